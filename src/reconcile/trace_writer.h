// TraceWriter: collects the values of one run and writes them as a trace file. Holds everything it
// will store in memory, because a safetensors header needs all sizes first. Not thread-safe.
//
//   TraceWriter writer(options);
//   for each prompt: writer.begin_prompt(ids); reference.run(ids, &writer);
//   writer.write(path, description);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "model/trace_sink.h"
#include "reconcile/trace_file.h"

namespace trilith::reconcile {

struct TraceOptions {
  TraceLevel level = TraceLevel::kFull;
  // With level full: this many prompts are stored whole and the others sampled; -1: all whole.
  int64_t full_prompts = -1;
  // Rows of a sampled prompt: the first, the last, and others drawn by the seed; the same rows at
  // every point, so that an operation's input and output can be compared.
  int64_t sampled_rows = 8;
  uint64_t seed = 0;
  // Points whose rows are stored, without layer prefix ("q_proj", "q_proj.x_codes"); empty: all.
  // Summaries cover all points always.
  std::vector<std::string> points;
};

// Ascending rows of a prompt of `tokens` tokens that a sampled trace stores.
std::vector<int64_t> sample_rows(int64_t tokens, int64_t count, uint64_t seed, int64_t prompt);

// Ids of the ten largest logits of each row, largest first, the lower id first among equals.
std::vector<int64_t> top_ids(std::span<const float> logits, int64_t rows, int64_t cols,
                             int64_t count);

class TraceWriter final : public model::TraceSink {
 public:
  explicit TraceWriter(TraceOptions options) : options_(std::move(options)) {}

  void begin_prompt(std::span<const int32_t> ids);
  void record(std::string_view point, int64_t rows, int64_t cols,
              std::span<const float> values) override;
  void record_integers(std::string_view point, int64_t rows, int64_t cols,
                       std::span<const int32_t> values) override;

  // `description` is the rest of "trilith.trace"; schema, level, rows and summaries are added.
  Status write(const std::string& path, Json description) const;

 private:
  struct Tensor {
    std::string name;
    DType dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };

  bool is_whole() const;  // the current prompt
  bool stores(std::string_view point) const;
  template <typename Stored, typename Value>
  void store(std::string_view point, DType dtype, int64_t cols, std::span<const Value> values);
  void summarise(std::string_view point, const TensorSummary& summary);
  void store_top_ids(int64_t rows, int64_t cols, std::span<const float> logits);

  TraceOptions options_;
  int64_t prompt_ = -1;
  std::vector<int64_t> rows_;  // stored rows of the current prompt
  std::vector<Tensor> tensors_;
  Json row_lists_ = Json::object();
  Json::Object summaries_;
};

}  // namespace trilith::reconcile
