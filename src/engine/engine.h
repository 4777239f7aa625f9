// Engine: a model ready to run, and its batched forward pass. Logits are a pure function of
// (weights, tokens of the sequence, mode): not of what else is in the batch, of how a prompt is cut
// into calls, of the number of threads or of the instruction set.
//
// Owns the prepared weights. One forward at a time (it reuses workspace); caches belong to callers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/fault.h"
#include "engine/kv_cache.h"
#include "engine/mode.h"
#include "model/trace_sink.h"
#include "model/weights.h"

namespace trilith::engine {

struct Options {
  std::optional<Mode> mode = {};  // default_mode() of the model when absent
  std::string isa = {};           // a kernel set by name; empty: TRILITH_ISA or the strongest
  int threads = 1;                // 0: one a processor
  EngineFault fault = {};         // tests of verify only
};

enum class LogitsWanted { kNone, kLast, kAll };

// Tokens to append to one sequence: they take the positions cache->length(), … and attend to all
// that came before.
struct Sequence {
  KvCache* cache = nullptr;
  std::span<const int32_t> ids = {};
  LogitsWanted logits = LogitsWanted::kLast;
};

struct Batch {
  std::vector<Sequence> sequences;
};

struct Logits {
  int64_t rows = 0;  // wanted tokens, in the order of the batch
  int64_t vocab_size = 0;
  std::vector<float> values;  // [rows, vocab_size]
  std::span<const float> row(int64_t index) const {
    return std::span(values).subspan(static_cast<size_t>(index * vocab_size),
                                     static_cast<size_t>(vocab_size));
  }
};

class Engine {
 public:
  // Packs the weights for the mode; refuses what the engine cannot run, by name. Given weights are
  // freed part by part, so that both forms are never whole at once; borrowed ones are only read.
  static Result<Engine> create(model::Weights&& weights, const Options& options);
  static Result<Engine> create(const model::Weights& weights, const Options& options);

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const model::ModelSpec& spec() const;
  Mode mode() const;
  std::string_view isa() const;  // of the kernels that run
  int threads() const;
  // Bytes read for each token: packed and dense linears, head included.
  int64_t weight_bytes() const;

  Result<KvCache> make_cache(int64_t capacity) const { return KvCache::create(spec(), capacity); }

  // Refuses ids outside the vocabulary, full or foreign caches and an empty batch before it touches
  // anything. `sink`, when not null, gets every point of model/trace_sink.h, with the tokens of all
  // sequences as rows in the order of the batch; "logits" has the wanted rows alone.
  Result<Logits> forward(const Batch& batch, model::TraceSink* sink = nullptr);

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace trilith::engine
