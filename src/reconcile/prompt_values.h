// PromptValues: everything recorded for one prompt, by point, from a live run or out of a trace
// file. All points hold the same tokens: row i belongs to token rows[i]. A plain value.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/trace_sink.h"
#include "reconcile/trace_file.h"

namespace trilith::reconcile {

template <typename T>
struct Recorded {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<T> values;  // [rows, cols]
};

struct PromptValues {
  std::vector<int32_t> ids;
  std::vector<int64_t> rows;  // ascending token indices
  std::map<std::string, Recorded<float>, std::less<>> floats;
  std::map<std::string, Recorded<int32_t>, std::less<>> integers;  // codes and accumulators

  bool is_whole() const { return rows.size() == ids.size(); }
  const Recorded<float>* find(std::string_view point) const;
  const Recorded<int32_t>* find_integers(std::string_view point) const;
};

// Rows `rows` (token indices, all stored in `values`) of every point.
PromptValues select_rows(const PromptValues& values, const std::vector<int64_t>& rows);
PromptValues read_prompt(const TraceFile& trace, int64_t prompt);

// Keeps a whole run.
class Recorder final : public model::TraceSink {
 public:
  explicit Recorder(std::span<const int32_t> ids);
  void record(std::string_view point, int64_t rows, int64_t cols,
              std::span<const float> values) override;
  void record_integers(std::string_view point, int64_t rows, int64_t cols,
                       std::span<const int32_t> values) override;
  PromptValues take() { return std::move(values_); }

 private:
  PromptValues values_;
};

}  // namespace trilith::reconcile
