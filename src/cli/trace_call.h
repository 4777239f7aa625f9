// What `trace` and `baseline` share: a model run over prompts, and the trace of it written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "reconcile/trace_run.h"

namespace trilith::cli {

struct TraceArguments {
  std::string model;
  std::string sheet;
  std::string prompts;
  std::string ids;
  std::vector<reconcile::TracedPrompt> given;  // in place of files
  std::string output;
  std::string backend = "reference";
  std::string mode;
  std::string level = "full";
  std::vector<std::string> points;
  int64_t full_prompts = -1;
  int64_t rows = 8;
  uint64_t seed = 0;
  int64_t max_tokens = 0;
  int threads = 0;
};

// Prompts of a file of id lists (reconcile/prompts.h).
Result<std::vector<reconcile::TracedPrompt>> read_id_prompts(const std::string& path);
// Traces as the arguments say and writes the file.
Status run_trace(const TraceArguments& arguments);

}  // namespace trilith::cli
