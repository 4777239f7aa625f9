#include "inspect/reading_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "inspect/decision.h"
#include "inspect/general_search.h"
#include "inspect/plain_profiles.h"
#include "inspect/plane_names.h"
#include "inspect/stored_bytes.h"
#include "inspect/workers.h"

namespace trilith::inspect {
namespace {

// The announced format is weighed like a finding of this many nats: more than a close call between
// statistics, less than what bytes that contradict it bring up.
constexpr double kAnnouncement = 20;

// Bytes of codes that are searched again for more than the narrow search found: seconds at most.
constexpr uint64_t kMostSearched = uint64_t{1} << 20;

class ReadingSearch {
 public:
  ReadingSearch(const checkpoint::Checkpoint& checkpoint, const DenseSibling* reference,
                Findings& out)
      : checkpoint_(checkpoint), reference_(reference), out_(out) {}

  // What lies in the file: codes, scales, plain tensors, and what names say of them.
  Status survey() {
    out_.context.sizes = sizes_from_config(checkpoint_.config());
    out_.context.sibling = reference_;
    const std::vector<TensorView>& tensors = checkpoint_.tensors();
    std::vector<TensorSummary> summaries(tensors.size());
    for_each(tensors.size(), 0, [&](size_t i) { summaries[i] = summarise(tensors[i]); });
    for (size_t i = 0; i < tensors.size(); ++i) {
      out_.summaries.push_back(summaries[i]);
      if (summaries[i].nan == 0) continue;
      return Error::damaged(fmt::format("{} values are not finite", summaries[i].nan))
          .with_tensor(tensors[i].name);
    }
    out_.modules = group_tensors(tensors, out_.summaries);
    out_.found = find_codes(out_.modules);
    out_.context.lone_tensors = out_.found.scales_by_size;
    collect_plain({});
    if (Identities named = identify_by_name(out_.found.groups, out_.plain); !named.ids.empty()) {
      out_.identities.push_back(std::move(named));
    }
    out_.context.heads.head_dim = out_.context.sizes.head_dim;
    if (out_.context.sizes.kv_heads > 0) {
      out_.context.heads.kv_groups = out_.context.sizes.heads / out_.context.sizes.kv_heads;
    }
    return {};
  }

  Status run(const std::function<bool()>& can_probe) {
    const Status found = search();
    if (!found.ok()) {
      if (const Status status = search_generally(); !status.ok()) return found;
    } else if (!can_probe()) {
      prefer_general();
    }
    if (reference_ != nullptr) settle();
    return check_bytes();
  }

 private:
  // Modules without codes, leaving out tensors that serve as scales.
  void collect_plain(const std::set<const TensorView*>& taken) {
    out_.plain.clear();
    for (const StoredModule& module : out_.modules) {
      const Part* weight = nullptr;
      bool packed = false;
      for (const CodeGroup& group : out_.found.groups) packed = packed || group.name == module.name;
      for (const Part& part : module.parts) {
        if (packed || taken.contains(part.tensor) || part.suffix.ends_with("bias")) continue;
        if (weight == nullptr && is_float(part.tensor->dtype)) weight = &part;
      }
      if (weight != nullptr) out_.plain.push_back({module.name, weight});
    }
  }

  void collect_plain_profiles() {
    out_.context.plain = profile_plain(out_.plain, out_.context.ids, out_.context.sizes.hidden);
  }

  Status search() {
    if (out_.found.groups.empty()) {
      return Error::unsupported("8-bit floats are not among the formats of the narrow search");
    }
    for (const CodeGroup& group : out_.found.groups) {
      if (!group.problem.empty()) {
        return Error::unsupported(group.problem).with_tensor(group.name);
      }
    }
    if (!out_.identities.empty()) out_.context.ids = out_.identities.front().ids;
    TRILITH_RETURN_IF_ERROR(search_families());
    if (!out_.identities.empty()) return {};
    std::vector<PackedModule> packed;
    for (const FamilySearch& family : out_.families) {
      const auto& own = family.arrangements[family.readings.front().arrangement].modules;
      packed.insert(packed.end(), own.begin(), own.end());
    }
    out_.identities = identify_by_order(packed, out_.plain, out_.context.sizes);
    if (out_.identities.empty()) return {};
    out_.context.ids = out_.identities.front().ids;  // roles say which profiles belong together
    return search_families();
  }

  Status search_families() {
    out_.families.clear();
    std::vector<std::pair<DType, size_t>> kinds;
    for (const CodeGroup& group : out_.found.groups) {
      const std::pair kind{group.codes.front()->tensor->dtype, group.codes.size()};
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
    collect_plain_profiles();
    std::set<const TensorView*> taken;
    for (const auto& kind : kinds) {
      std::vector<const CodeGroup*> members;
      for (const CodeGroup& group : out_.found.groups) {
        if (std::pair{group.codes.front()->tensor->dtype, group.codes.size()} == kind) {
          members.push_back(&group);
        }
      }
      FamilySearch family = search_family(members, out_.context);
      if (family.readings.empty()) {
        return Error::unsupported(family.refusal).with_tensor(family.module);
      }
      weigh_announcement(family);
      weigh_plane_names(family);
      const auto& modules = family.arrangements[family.readings.front().arrangement].modules;
      for (const PackedModule& module : modules) {
        for (const auto& [role, tensor] : module.stored) taken.insert(tensor);
        taken.insert(module.bias);
      }
      out_.families.push_back(std::move(family));
    }
    collect_plain(taken);
    return {};
  }

  // Nothing but statistics decides: the general search weighs more of them. It knows no planes of
  // signs, and its reading is taken only where no doubt is left.
  void prefer_general() {
    const auto planes = [](const CodeGroup& group) { return group.codes.size() > 1; };
    if (std::any_of(out_.found.groups.begin(), out_.found.groups.end(), planes)) return;
    uint64_t bytes = 0;
    for (const CodeGroup& group : out_.found.groups)
      bytes += group.codes.front()->tensor->bytes.size();
    if (bytes > kMostSearched) return;
    std::vector<FamilySearch> narrow = std::move(out_.families);
    std::vector<PlainModule> plain = std::move(out_.plain);
    const Status found = search_generally();
    const auto doubtful = [](const FamilySearch& family) { return family.misfit; };
    if (found.ok() && std::none_of(out_.families.begin(), out_.families.end(), doubtful)) return;
    out_.families = std::move(narrow);
    out_.plain = std::move(plain);
  }

  // Any width, scale groups, zero points, tables: where the narrower search has no reading.
  Status search_generally() {
    out_.families.clear();
    std::set<const TensorView*> taken;
    const std::vector<StoredClass> classes = classify(out_.modules);
    if (classes.empty()) return Error::unsupported("no tensor can hold codes");
    collect_plain_of(classes);
    for (const StoredClass& stored : classes) {
      for (FamilySearch& family : general_search(stored, out_.context)) {
        if (family.readings.empty()) {
          return Error::unsupported(family.refusal).with_tensor(family.module);
        }
        const auto& modules = family.arrangements[family.readings.front().arrangement].modules;
        for (const PackedModule& module : modules) {
          for (const auto& [role, tensor] : module.stored) taken.insert(tensor);
        }
        out_.families.push_back(std::move(family));
      }
    }
    collect_plain(taken);
    return {};
  }

  // By the dense sibling: what was found, else what the general search finds beside it.
  void settle() {
    const auto resembles = [&](std::vector<FamilySearch>& families) {
      size_t count = 0;
      for (FamilySearch& family : families) count += settle_by_sibling(family, *reference_);
      return count > 0;
    };
    if (resembles(out_.families)) return;
    std::vector<FamilySearch> before = std::move(out_.families);
    std::vector<PlainModule> plain = std::move(out_.plain);
    if (search_generally().ok() && resembles(out_.families)) return;
    out_.families = std::move(before);
    out_.plain = std::move(plain);
    for (FamilySearch& family : out_.families) {
      family.doubts.emplace_back("no matrix of the reference resembles this reading");
    }
  }

  // Whether what was taken for codes can be packed weights at all, and is whole.
  Status check_bytes() const {
    for (const FamilySearch& family : out_.families) {
      for (const PackedModule& module :
           family.arrangements[family.readings.front().arrangement].modules) {
        for (const auto& [role, tensor] : module.stored) {
          if (role.starts_with("codes")) TRILITH_RETURN_IF_ERROR(like_packed_weights(*tensor));
        }
      }
    }
    return {};
  }

  // Modules that hold no codes are plain.
  void collect_plain_of(const std::vector<StoredClass>& classes) {
    std::set<const TensorView*> taken;
    for (const StoredClass& stored : classes) {
      for (const ClassModule& module : stored.modules) {
        for (const auto& [suffix, tensor] : module.parts) taken.insert(tensor);
      }
    }
    collect_plain(taken);
    collect_plain_profiles();
  }

  // "bitnet" of Hugging Face: quarter planes, code - 1, and a direction that follows linear_class.
  void weigh_announcement(FamilySearch& family) {
    const Json& announced = checkpoint_.config()["quantization_config"];
    const std::string* method = announced["quant_method"].as_string();
    if (method == nullptr || *method != "bitnet") return;
    const std::string* linear_class = announced["linear_class"].as_string();
    const bool multiplies = linear_class != nullptr && *linear_class == "autobitlinear";
    const auto table = packing::CodeTable::list({-1.0, 0.0, 1.0, std::nullopt});
    for (Reading& reading : family.readings) {
      const packing::PackingSpec& spec = reading.hypothesis.spec;
      const bool divides = spec.scale.op == packing::Scale::Op::kDivide;
      if (spec.law.axis == packing::Axis::kN && spec.code_table == table &&
          spec.law.stride.kind == packing::Stride::Kind::kExtentOverSlots &&
          spec.law.slot_order == packing::SlotOrder::kLowFirst && divides != multiplies) {
        reading.hypothesis.add("announced", kAnnouncement);
      }
    }
    rank(family.readings, std::nullopt);
  }

  const checkpoint::Checkpoint& checkpoint_;
  const DenseSibling* reference_;
  Findings& out_;
};

}  // namespace

bool Findings::holds_codes() const { return !found.groups.empty() || !classify(modules).empty(); }

Status survey(const checkpoint::Checkpoint& checkpoint, const DenseSibling* reference,
              Findings& out) {
  return ReadingSearch(checkpoint, reference, out).survey();
}

Status find_readings(const checkpoint::Checkpoint& checkpoint, const DenseSibling* reference,
                     const std::function<bool()>& can_probe, Findings& out) {
  return ReadingSearch(checkpoint, reference, out).run(can_probe);
}

}  // namespace trilith::inspect
