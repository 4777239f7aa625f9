#include "inspect/law_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/fingerprint.h"
#include "inspect/code_choices.h"
#include "inspect/padding.h"
#include "inspect/placement.h"
#include "inspect/reading_evidence.h"

namespace trilith::inspect {
namespace {

using packing::PackingSpec;
using packing::Scale;

constexpr double kByte = 5.545177444479562;  // 8 ln 2
// Laws this far behind in description length are not weighed further.
constexpr double kLawWindow = 150;
constexpr size_t kMostLaws = 96;

class LawSearch {
 public:
  LawSearch(const StoredClass& stored, const std::vector<LogicalShape>& legal,
            const ConfigSizes& sizes)
      : stored_(stored), legal_(legal), sizes_(sizes) {}

  LawsFound run() {
    find();
    return std::move(found_);
  }

 private:
  void find() {
    for (const auto& [parts, candidates] : code_choices(stored_)) {
      for (const CandidateLaw& law : candidates) {
        for (auto& placed : place_modules(stored_, parts, law, legal_)) {
          add_law(law, std::move(placed));
        }
      }
    }
    std::stable_sort(found_.laws.begin(), found_.laws.end(),
                     [](const Law& a, const Law& b) { return a.nats > b.nats; });
    if (found_.laws.empty()) return;
    const double best = found_.laws.front().nats;
    std::erase_if(found_.laws, [best](const Law& law) { return law.nats < best - kLawWindow; });
    if (found_.laws.size() > kMostLaws) found_.laws.resize(kMostLaws);
  }

  // Whether a float tensor of as many entries as there are codes lies beside them.
  bool has_table(int bits) const {
    const auto is_table = [bits](const TensorView* tensor) {
      return bits > 1 && is_float(tensor->dtype) && tensor->count() == uint64_t{1} << bits;
    };
    const auto& parts = stored_.modules.front().parts;
    return std::any_of(stored_.loose.begin(), stored_.loose.end(), is_table) ||
           std::any_of(parts.begin(), parts.end(),
                       [&](const auto& part) { return is_table(part.second); });
  }

  // Roughly, for codes of so many bits.
  static int64_t elements_of(const ClassModule& module, int bits) {
    uint64_t bytes = 0;
    for (const std::string& suffix : module.code_parts)
      bytes += module.parts.at(suffix)->bytes.size();
    return static_cast<int64_t>(bytes) * 8 / std::max(bits, 2);
  }

  void add_law(const CandidateLaw& candidate, std::vector<PackedModule> placed) {
    Law law{candidate, std::move(placed), {}, 0, 0};
    law.surplus = surplus_modules(law.placed, legal_, sizes_);
    CodeCounter counter(candidate.spec);
    Fingerprint all;
    uint64_t bytes = 0;
    int64_t elements = 0;
    int64_t cropped = 0;  // what a law passes over for padding is weights still
    PackingSpec bare = candidate.spec;
    size_t next = 0;  // of law.placed
    for (const ClassModule& stored : stored_.modules) {
      if (elements > kMostElements) break;
      if (next == law.placed.size() || law.placed[next].name != stored.name) {
        elements += elements_of(stored, bare.bits);  // passed over: all laws see the same modules
        continue;
      }
      const PackedModule& module = law.placed[next++];
      auto matrix = decode_module(bare, module);
      if (!matrix.ok()) return;
      counter.add(matrix->codes, matrix->rows, matrix->cols);
      cropped += cropped_weights(bare, module);
      all.add(static_cast<uint64_t>(matrix->rows));
      for (size_t i = 0; i + 8 <= matrix->codes.size(); i += 8) {
        uint64_t eight = 0;
        std::memcpy(&eight, matrix->codes.data() + i, 8);
        all.add(eight);
      }
      for (const auto& [role, tensor] : module.stored) {
        bytes += tensor->bytes.size();
        if (matrix->scale.place != Scale::Place::kTensor) {
          bytes -= matrix->scales.size() * dtype_size(matrix->scale.dtype);
        }
      }
      const bool two_levels = candidate.spec.scale.index == Scale::Index::kSubBlock;
      for (const float scale : matrix->scales) {
        if (!std::isfinite(scale) || (scale == 0 && !two_levels)) return;
      }
      elements += matrix->rows * matrix->cols;
    }
    const bool same_scale = candidate.spec.scale.index == Scale::Index::kNone;
    if (same_scale && std::find(seen_.begin(), seen_.end(), all) != seen_.end()) return;
    if (same_scale) seen_.push_back(all);
    law.statistics = counter.finish();
    law.nats = static_cast<double>(bytes) * kByte - law.statistics.description_nats -
               static_cast<double>(cropped) * law.statistics.entropy;
    std::string reason =
        unlike_weights(law.statistics, candidate.spec.bits, has_table(candidate.spec.bits));
    if (!reason.empty()) {
      if (law.nats > refusal_nats_) {
        refusal_nats_ = law.nats;
        found_.refusal = std::move(reason);
      }
      return;
    }
    found_.laws.push_back(std::move(law));
  }

  const StoredClass& stored_;
  const std::vector<LogicalShape>& legal_;
  const ConfigSizes& sizes_;
  std::vector<Fingerprint> seen_;
  double refusal_nats_ = -1e300;
  LawsFound found_;
};

}  // namespace

LawsFound find_laws(const StoredClass& stored, const std::vector<LogicalShape>& legal,
                    const ConfigSizes& sizes) {
  return LawSearch(stored, legal, sizes).run();
}

}  // namespace trilith::inspect
