#include "reconcile/prompt_values.h"

#include <numeric>

#include "base/check.h"

namespace trilith::reconcile {
namespace {

template <typename Map>
auto* find_in(const Map& map, std::string_view point) {
  const auto found = map.find(point);
  return found == map.end() ? nullptr : &found->second;
}

// Positions in `from` of the tokens `wanted`.
std::vector<size_t> positions_of(const std::vector<int64_t>& wanted,
                                 const std::vector<int64_t>& from) {
  std::vector<size_t> positions;
  for (const int64_t row : wanted) {
    const auto found = std::lower_bound(from.begin(), from.end(), row);
    TRILITH_CHECK(found != from.end() && *found == row);
    positions.push_back(static_cast<size_t>(found - from.begin()));
  }
  return positions;
}

template <typename T>
Recorded<T> take_rows(const Recorded<T>& all, const std::vector<size_t>& positions) {
  Recorded<T> result{static_cast<int64_t>(positions.size()), all.cols, {}};
  result.values.reserve(positions.size() * static_cast<size_t>(all.cols));
  for (const size_t position : positions) {
    const auto begin = all.values.begin() + static_cast<std::ptrdiff_t>(position) * all.cols;
    result.values.insert(result.values.end(), begin, begin + all.cols);
  }
  return result;
}

}  // namespace

const Recorded<float>* PromptValues::find(std::string_view point) const {
  return find_in(floats, point);
}

const Recorded<int32_t>* PromptValues::find_integers(std::string_view point) const {
  return find_in(integers, point);
}

PromptValues select_rows(const PromptValues& values, const std::vector<int64_t>& rows) {
  const std::vector<size_t> positions = positions_of(rows, values.rows);
  PromptValues result{values.ids, rows, {}, {}};
  for (const auto& [point, all] : values.floats) result.floats[point] = take_rows(all, positions);
  for (const auto& [point, all] : values.integers) {
    result.integers[point] = take_rows(all, positions);
  }
  return result;
}

PromptValues read_prompt(const TraceFile& trace, int64_t prompt) {
  PromptValues result{trace.ids(prompt), trace.rows(prompt), {}, {}};
  for (const std::string& point : trace.points(prompt)) {
    const TensorView* tensor = trace.find(prompt, point);
    if (tensor == nullptr || tensor->shape.size() != 2) continue;
    if (is_float(tensor->dtype)) {
      result.floats[point] = {tensor->dim(0), tensor->dim(1), to_floats(*tensor)};
    } else {
      Recorded<int32_t> codes{tensor->dim(0), tensor->dim(1), {}};
      codes.values.reserve(tensor->count());
      for (uint64_t i = 0; i < tensor->count(); ++i) {
        codes.values.push_back(static_cast<int32_t>(element_as_double(*tensor, i)));
      }
      result.integers[point] = std::move(codes);
    }
  }
  return result;
}

Recorder::Recorder(std::span<const int32_t> ids) {
  values_.ids.assign(ids.begin(), ids.end());
  values_.rows.resize(ids.size());
  std::iota(values_.rows.begin(), values_.rows.end(), int64_t{0});
}

void Recorder::record(std::string_view point, int64_t rows, int64_t cols,
                      std::span<const float> values) {
  values_.floats[std::string(point)] = {rows, cols, {values.begin(), values.end()}};
}

void Recorder::record_integers(std::string_view point, int64_t rows, int64_t cols,
                               std::span<const int32_t> values) {
  values_.integers[std::string(point)] = {rows, cols, {values.begin(), values.end()}};
}

}  // namespace trilith::reconcile
