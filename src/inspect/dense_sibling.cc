#include "inspect/dense_sibling.h"

#include <algorithm>
#include <cmath>

#include "inspect/decision.h"
#include "inspect/reading_evidence.h"

namespace trilith::inspect {
namespace {

// Weights that count: their errors are not independent, and a few hundred decide signs and orders.
// A reading that leaves a stored tensor without a part must not win by coming nearer than the
// writer's own rounding.
constexpr double kMostWeights = 512;
// Modules that are compared; more of a family say the same.
constexpr size_t kMostModules = 4;
// Of one shape, when names do not tell which it is.
constexpr size_t kMostSiblings = 64;
constexpr uint64_t kMostElements = uint64_t{1} << 24;

Resemblance compare(std::span<const float> dense, const std::vector<float>& sibling) {
  double product = 0;
  double own = 0;
  double other = 0;
  double error = 0;
  for (size_t i = 0; i < dense.size(); ++i) {
    const auto a = static_cast<double>(dense[i]);
    const auto b = static_cast<double>(sibling[i]);
    product += a * b;
    own += a * a;
    other += b * b;
    error += (a - b) * (a - b);
  }
  Resemblance result;
  if (!(own > 0) || !(other > 0) || !std::isfinite(own) || !std::isfinite(other)) return result;
  result.cosine = product / std::sqrt(own * other);
  result.relative_error = error / other;
  const double weights = std::min(kMostWeights, static_cast<double>(dense.size()));
  const double least = std::max(result.relative_error, 1e-9);
  result.nats = std::max(0.0, -0.5 * weights * std::log(least));
  return result;
}

std::string_view without_weight(std::string_view name) {
  if (name.ends_with(".weight")) name.remove_suffix(7);
  return name;
}

}  // namespace

Result<DenseSibling> DenseSibling::open(const std::string& path) {
  DenseSibling sibling;
  TRILITH_ASSIGN_OR_RETURN(sibling.checkpoint_, checkpoint::Checkpoint::open(path));
  for (const TensorView& tensor : sibling.checkpoint_.tensors()) {
    if (!is_float(tensor.dtype) || tensor.shape.size() != 2 || dtype_size(tensor.dtype) < 2) {
      continue;
    }
    if (tensor.count() == 0 || tensor.count() > kMostElements) continue;
    auto& of_shape = sibling.by_shape_[{tensor.shape[0], tensor.shape[1]}];
    of_shape.push_back({&tensor, {}});
  }
  if (sibling.by_shape_.empty()) {
    return Error::unsupported("the reference holds no matrix of floats")
        .with_file(path)
        .with_hint("--reference takes the unquantised model, or one of its matrices");
  }
  return sibling;
}

bool DenseSibling::has_shape(int64_t rows, int64_t cols) const {
  return by_shape_.contains({rows, cols});
}

bool DenseSibling::has_name(const std::string& module, int64_t rows, int64_t cols) const {
  const auto found = by_shape_.find({rows, cols});
  if (found == by_shape_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Matrix& matrix) {
    return without_weight(matrix.tensor->name) == without_weight(module);
  });
}

const std::vector<float>& DenseSibling::values_of(Matrix& matrix) const {
  const std::lock_guard lock(*filling_);
  if (matrix.values.empty()) matrix.values = to_floats(*matrix.tensor);
  return matrix.values;
}

std::optional<Resemblance> DenseSibling::best(const std::string& module, int64_t rows, int64_t cols,
                                              std::span<const float> dense) const {
  const auto found = by_shape_.find({rows, cols});
  if (found == by_shape_.end()) return std::nullopt;
  std::vector<Matrix>& matrices = found->second;
  const auto is_named = [&](const Matrix& matrix) {
    return without_weight(matrix.tensor->name) == without_weight(module);
  };
  const bool named = std::any_of(matrices.begin(), matrices.end(), is_named);
  std::optional<Resemblance> best;
  size_t compared = 0;
  for (Matrix& matrix : matrices) {
    if (named && !is_named(matrix)) continue;
    if (++compared > kMostSiblings) break;
    Resemblance own = compare(dense, values_of(matrix));
    own.name = matrix.tensor->name;
    if (!best || own.nats > best->nats) best = std::move(own);
  }
  return best;
}

std::optional<Resemblance> resemblance(const DenseSibling& sibling,
                                       const std::vector<PackedModule>& modules,
                                       const packing::PackingSpec& spec) {
  std::optional<Resemblance> best;
  size_t compared = 0;
  for (const PackedModule& module : modules) {
    if (!sibling.has_shape(module.rows, module.cols)) continue;
    const auto matrix = decode_module(spec, module);
    if (!matrix.ok()) continue;
    auto own = sibling.best(module.name, module.rows, module.cols, matrix->dense());
    if (own && (!best || own->nats > best->nats)) best = std::move(own);
    if (++compared == kMostModules) break;
  }
  return best;
}

bool settle_by_sibling(FamilySearch& family, const DenseSibling& sibling) {
  std::vector<Resemblance> found;
  for (Reading& reading : family.readings) {
    const auto own = resemblance(sibling, family.arrangements[reading.arrangement].modules,
                                 reading.hypothesis.spec);
    found.push_back(own.value_or(Resemblance{}));
    reading.hypothesis.add("reference", found.back().nats);
  }
  rank(family.readings, std::nullopt);
  const auto best =
      std::max_element(found.begin(), found.end(),
                       [](const Resemblance& a, const Resemblance& b) { return a.nats < b.nats; });
  const bool resembles = best != found.end() && best->cosine > kResembles && best->nats > 0 &&
                         family.readings.front().hypothesis.nats_of("reference") == best->nats;
  // An order that nothing confirmed is confirmed now; a tensor without a part stays one.
  if (resembles && !family.misfit) family.doubts.clear();
  return resembles;
}

}  // namespace trilith::inspect
