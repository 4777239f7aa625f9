// Import: a folder of dumped tensors (.npy, .pt, .pth, .safetensors) becomes a trace. Names are
// given their points by a TraceMap; files are mapped one at a time, and a pickle is read as data
// (checkpoint/pickle.h), never executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "reconcile/trace_map.h"
#include "reconcile/trace_writer.h"

namespace trilith::reconcile {

struct ImportOptions {
  TraceOptions trace;
  // Token ids, one list a prompt; empty: the dump holds them ("ids" of the map).
  std::vector<std::vector<int32_t>> ids;
  std::string mode;  // of the description; empty: none is said
};

struct ImportReport {
  int64_t prompts = 0;
  int64_t tensors = 0;
  std::vector<std::string> unknown;  // names in the dump that the map does not have
};

// Shapes: one row a token, [T, …], [1, T, …] or [B, T, …] with a prompt a row of the batch; heads
// may stand before tokens ([1, heads, T, head_dim]) where that cannot be mistaken. Nothing is
// transposed on suspicion.
Result<ImportReport> import_trace(const std::string& folder, const TraceMap& map,
                                  const ImportOptions& options, const std::string& output);

}  // namespace trilith::reconcile
