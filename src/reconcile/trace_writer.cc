#include "reconcile/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/fingerprint.h"
#include "base/splitmix.h"
#include "checkpoint/safetensors.h"

namespace trilith::reconcile {
namespace {

constexpr int64_t kTopIds = 10;

template <typename Value>
TensorSummary summary_of(int64_t rows, int64_t cols, std::span<const Value> values) {
  const Fingerprint print = fingerprint(values);
  double squares = 0;
  for (const Value value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return {rows, cols, print.ordered, print.multiset, std::sqrt(squares)};
}

template <typename Stored>
void append(std::vector<std::byte>& bytes, Stored value) {
  const size_t end = bytes.size();
  bytes.resize(end + sizeof(Stored));
  std::memcpy(bytes.data() + end, &value, sizeof(Stored));
}

bool fits_int8(std::span<const int32_t> values) {
  return std::all_of(values.begin(), values.end(),
                     [](int32_t value) { return value >= -128 && value <= 127; });
}

}  // namespace

std::vector<int64_t> sample_rows(int64_t tokens, int64_t count, uint64_t seed, int64_t prompt) {
  std::vector<int64_t> rows(static_cast<size_t>(tokens));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  if (count >= tokens) return rows;
  // Fisher–Yates over the rows between the first and the last.
  SplitMix64 random(seed * kSplitMixStep + static_cast<uint64_t>(prompt));
  std::vector<int64_t> chosen;
  if (count > 0) chosen.push_back(tokens - 1);
  if (count > 1) chosen.push_back(0);
  for (int64_t i = 1; static_cast<int64_t>(chosen.size()) < count; ++i) {
    const auto offset = static_cast<int64_t>(random.below(static_cast<uint64_t>(tokens - 1 - i)));
    const int64_t pick = i + offset;
    std::swap(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(pick)]);
    chosen.push_back(rows[static_cast<size_t>(i)]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<int64_t> top_ids(std::span<const float> logits, int64_t rows, int64_t cols,
                             int64_t count) {
  count = std::min(count, cols);
  std::vector<int64_t> result;
  std::vector<int64_t> ids(static_cast<size_t>(cols));
  for (int64_t t = 0; t < rows; ++t) {
    const float* row = logits.data() + t * cols;
    std::iota(ids.begin(), ids.end(), int64_t{0});
    // NaN sorts last: a comparison with it is false both ways, which is no strict order.
    const auto before = [row](int64_t a, int64_t b) {
      const bool a_nan = std::isnan(row[a]);
      const bool b_nan = std::isnan(row[b]);
      if (a_nan != b_nan) return b_nan;
      if (!a_nan && row[a] != row[b]) return row[a] > row[b];
      return a < b;
    };
    std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), before);
    result.insert(result.end(), ids.begin(), ids.begin() + count);
  }
  return result;
}

bool TraceWriter::is_whole() const {
  if (options_.level != TraceLevel::kFull) return false;
  return options_.full_prompts < 0 || prompt_ < options_.full_prompts;
}

bool TraceWriter::stores(std::string_view point) const {
  if (options_.level == TraceLevel::kFingerprint) return false;
  const std::string_view name = without_layer(point);
  return options_.points.empty() ||
         std::find(options_.points.begin(), options_.points.end(), name) != options_.points.end();
}

void TraceWriter::begin_prompt(std::span<const int32_t> ids) {
  ++prompt_;
  const auto tokens = static_cast<int64_t>(ids.size());
  const int64_t count = is_whole()                                   ? tokens
                        : options_.level == TraceLevel::kFingerprint ? 0
                                                                     : options_.sampled_rows;
  rows_ = sample_rows(tokens, count, options_.seed, prompt_);
  if (static_cast<int64_t>(rows_.size()) < tokens) {
    row_lists_.set(fmt::format("p{}", prompt_), Json::array(rows_));
  }
  Tensor tensor{trace_tensor_name(prompt_, "ids"), DType::kI64, {tokens}, {}};
  for (const int32_t id : ids) append(tensor.bytes, int64_t{id});
  tensors_.push_back(std::move(tensor));
}

template <typename Stored, typename Value>
void TraceWriter::store(std::string_view point, DType dtype, int64_t cols,
                        std::span<const Value> values) {
  Tensor tensor{
      trace_tensor_name(prompt_, point), dtype, {static_cast<int64_t>(rows_.size()), cols}, {}};
  tensor.bytes.reserve(rows_.size() * static_cast<size_t>(cols) * sizeof(Stored));
  for (const int64_t row : rows_) {
    for (const Value value :
         values.subspan(static_cast<size_t>(row * cols), static_cast<size_t>(cols))) {
      append(tensor.bytes, static_cast<Stored>(value));
    }
  }
  tensors_.push_back(std::move(tensor));
}

void TraceWriter::summarise(std::string_view point, const TensorSummary& summary) {
  summaries_.emplace_back(trace_tensor_name(prompt_, point), to_json(summary));
}

void TraceWriter::record(std::string_view point, int64_t rows, int64_t cols,
                         std::span<const float> values) {
  TRILITH_CHECK(prompt_ >= 0 && values.size() == static_cast<size_t>(rows * cols));
  summarise(point, summary_of(rows, cols, values));
  if (stores(point)) store<float>(point, DType::kF32, cols, values);
  if (point == "logits" && options_.level != TraceLevel::kFingerprint) {
    store_top_ids(rows, cols, values);
  }
}

void TraceWriter::record_integers(std::string_view point, int64_t rows, int64_t cols,
                                  std::span<const int32_t> values) {
  TRILITH_CHECK(prompt_ >= 0 && values.size() == static_cast<size_t>(rows * cols));
  summarise(point, summary_of(rows, cols, values));
  if (!stores(point)) return;
  if (point.ends_with(".x_codes") && fits_int8(values)) {
    store<int8_t>(point, DType::kI8, cols, values);
  } else {
    store<int32_t>(point, DType::kI32, cols, values);
  }
}

void TraceWriter::store_top_ids(int64_t rows, int64_t cols, std::span<const float> logits) {
  const std::vector<int64_t> ids = top_ids(logits, rows, cols, kTopIds);
  store<int64_t, int64_t>("top10", DType::kI64, std::min(kTopIds, cols), ids);
}

Status TraceWriter::write(const std::string& path, Json description) const {
  description.set("schema", kTraceSchema);
  description.set("level", level_name(options_.level));
  description.set("rows", row_lists_);
  description.set("summaries", Json(summaries_));
  std::vector<checkpoint::TensorToWrite> tensors;
  for (const Tensor& tensor : tensors_) {
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  }
  return checkpoint::write_safetensors(
      path, tensors, Json::object({{std::string(kTraceMetadataKey), description.dump()}}));
}

}  // namespace trilith::reconcile
