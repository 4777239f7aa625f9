// Trace files: safetensors with the tensors p{prompt}.{point} and, in `__metadata__`, the JSON
// "trilith.trace" (schema trilith.trace/1, CONTRACT "Traces"). A file by any other program under
// these tensor names is a valid trace, without metadata too: then every row is stored, in order.
//
// Beside what CONTRACT lists, the description holds
//   "rows":      {"p1": [0, 9, …]}  tokens whose rows are stored, for prompts stored in part
//   "summaries": {"p1.embed": {"rows", "cols", "ordered", "multiset", "l2"}}  of all rows
//
// TraceFile reads one: it owns the map, so views live as long as it. Immutable after open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace trilith::reconcile {

inline constexpr std::string_view kTraceSchema = "trilith.trace/1";
inline constexpr std::string_view kTraceMetadataKey = "trilith.trace";

// How much of every tensor is stored; summaries are stored always.
enum class TraceLevel { kFingerprint, kSampled, kFull };
std::string_view level_name(TraceLevel level);  // "fingerprint", "sampled", "full"
Result<TraceLevel> level_from_name(std::string_view name);

// "p0.layers.3.q_proj"
std::string trace_tensor_name(int64_t prompt, std::string_view point);
// "q_proj.x_codes" of "layers.3.q_proj.x_codes"; points outside layers as they are.
std::string_view without_layer(std::string_view point);

// What is kept of a whole tensor, whether or not its rows are stored (base/fingerprint.h).
struct TensorSummary {
  int64_t rows = 0;
  int64_t cols = 0;
  uint64_t ordered = 0;
  uint64_t multiset = 0;
  double l2 = 0;  // Euclidean norm, summed in double
};
Json to_json(const TensorSummary& summary);
Result<TensorSummary> summary_from_json(const Json& json);

class TraceFile {
 public:
  static Result<TraceFile> open(const std::string& path);
  // Of bytes that outlive it; `path` is for messages.
  static Result<TraceFile> parse(std::span<const std::byte> bytes, const std::string& path);

  const std::string& path() const { return path_; }
  // The description, or null.
  const Json& description() const { return description_; }
  int64_t prompt_count() const { return static_cast<int64_t>(prompts_.size()); }
  const std::vector<int32_t>& ids(int64_t prompt) const { return prompt_at(prompt).ids; }
  // Token index of each stored row, ascending.
  const std::vector<int64_t>& rows(int64_t prompt) const { return prompt_at(prompt).rows; }
  // A stored tensor, [rows, cols] with one row a stored token, or nullptr.
  const TensorView* find(int64_t prompt, std::string_view point) const;
  // Stored tensors of a prompt without `ids`, in file order, as points.
  std::vector<std::string> points(int64_t prompt) const;
  std::optional<TensorSummary> summary(int64_t prompt, std::string_view point) const;

 private:
  struct Prompt {
    std::vector<int32_t> ids;
    std::vector<int64_t> rows;
  };
  TraceFile() = default;
  const Prompt& prompt_at(int64_t prompt) const { return prompts_[static_cast<size_t>(prompt)]; }
  Status read_prompts();
  Status read_rows(int64_t prompt);
  Status check_tensors() const;

  std::string path_;
  std::shared_ptr<const MappedFile> file_;  // none when parsed from bytes of others
  std::vector<TensorView> tensors_;         // ordered by name
  std::vector<size_t> file_order_;          // indices into tensors_
  Json description_;
  std::vector<Prompt> prompts_;
};

}  // namespace trilith::reconcile
