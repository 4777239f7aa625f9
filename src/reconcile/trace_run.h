// The description of a traced run ("trilith.trace" in CONTRACT), and tracing with the reference and
// the engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "engine/engine.h"
#include "model/format_sheet.h"
#include "model/weights.h"
#include "reconcile/trace_writer.h"
#include "reference/activation.h"

namespace trilith::reconcile {

struct TracedPrompt {
  std::string text;  // empty when ids were given
  std::vector<int32_t> ids;
};

struct TraceOrigin {
  const model::Weights* weights = nullptr;
  const model::FormatSheet* sheet = nullptr;
  Json config;                   // config.json as read
  std::string tokenizer_sha256;  // of tokenizer.json; empty when none was used
  std::string version;           // of this program
};

// {module: {"ordered", "multiset"}} of every module's decoded values. Two packings of the same
// weights agree; "multiset" also survives a permutation.
Json weight_fingerprints(const model::Weights& weights);
// "F16" when all scales are stored so, "mixed", or null when nothing is packed.
Json scale_dtype(const model::FormatSheet& sheet);

// Everything of the description but schema, level, rows and summaries, which the writer adds.
Json describe_trace(const TraceOrigin& origin, const std::vector<TracedPrompt>& prompts,
                    const std::string& backend, const std::string& mode, const std::string& isa,
                    int threads);

// Runs the reference over the prompts and writes the trace at `path`.
Status trace_reference(const TraceOrigin& origin, const std::vector<TracedPrompt>& prompts,
                       reference::Mode mode, const TraceOptions& options, ThreadPool& pool,
                       const std::string& path);
// The same with the engine, in its own mode; one whole-prompt forward a prompt.
Status trace_engine(const TraceOrigin& origin, const std::vector<TracedPrompt>& prompts,
                    engine::Engine& engine, const TraceOptions& options, const std::string& path);

}  // namespace trilith::reconcile
