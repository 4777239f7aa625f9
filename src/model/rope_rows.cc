#include "model/rope_rows.h"

#include <algorithm>

#include "base/check.h"
#include "checkpoint/gguf_model.h"

namespace trilith::model {
namespace {

template <typename T>
std::vector<T> moved(const std::vector<T>& values, const std::vector<int64_t>& rows) {
  TRILITH_CHECK(!rows.empty() && values.size() % rows.size() == 0);
  const auto length = static_cast<int64_t>(values.size() / rows.size());
  std::vector<T> result(values.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    std::copy_n(values.begin() + rows[row] * length, length,
                result.begin() + static_cast<int64_t>(row) * length);
  }
  return result;
}

}  // namespace

bool has_rope_rows(std::string_view gguf_architecture, Role role) {
  const auto* architecture = checkpoint::gguf_architecture(gguf_architecture);
  return architecture != nullptr && architecture->permutes_qk &&
         (role == Role::kQProj || role == Role::kKProj);
}

std::vector<int64_t> rope_rows(const ModelSpec& spec, Role role, RowOrder order) {
  const int64_t head = spec.head_dim;
  const int64_t count = role == Role::kQProj ? spec.q_size() : spec.kv_size();
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (int64_t row = 0; row < count; ++row) {
    const int64_t start = row / head * head;
    const int64_t inside = row % head;
    const int64_t half = head / 2;
    const int64_t from = order == RowOrder::kToGguf ? inside / 2 + inside % 2 * half
                         : inside < half            ? 2 * inside
                                                    : 2 * (inside - half) + 1;
    rows[static_cast<size_t>(row)] = start + from;
  }
  return rows;
}

std::vector<float> with_rows(const std::vector<float>& values, const std::vector<int64_t>& rows) {
  return moved(values, rows);
}

Result<packing::QuantMatrix> with_rows(packing::QuantMatrix matrix,
                                       const std::vector<int64_t>& rows) {
  using Index = packing::Scale::Index;
  const Index index = matrix.scale.index;
  const bool by_row = index == Index::kRow || index == Index::kRowGroup ||
                      index == Index::kRankOne ||
                      (index == Index::kBlock && matrix.scale.segment_axis == packing::Axis::kK) ||
                      (index == Index::kFlatBlock && matrix.cols % matrix.scale.group == 0);
  const bool of_all = index == Index::kNone || index == Index::kTensor || index == Index::kColumn;
  if (!by_row && !of_all) {
    return Error::unsupported("scales that several rows share cannot follow the rows of q and k");
  }
  matrix.codes = moved(matrix.codes, rows);
  if (by_row) {
    matrix.scales = moved(matrix.scales, rows);
    if (!matrix.zeros.empty()) matrix.zeros = moved(matrix.zeros, rows);
  }
  return matrix;
}

}  // namespace trilith::model
