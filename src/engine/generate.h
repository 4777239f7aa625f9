// generate: prompt in, tokens out, one sequence. The prompt is read in chunks; tokens are handed
// over as they come, and the receiver may stop.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/sampler.h"

namespace trilith::engine {

struct GenerateOptions {
  int64_t max_new_tokens = 128;
  Sampling sampling = {};
  std::vector<int32_t> stop_ids = {};  // end the text and are not part of it
  int64_t prefill_chunk = 512;
};

enum class StopReason { kStopToken, kLength, kContext, kStopped };
std::string_view stop_reason_name(StopReason reason);  // "eos", "length", "context", "interrupted"

struct Generation {
  std::vector<int32_t> ids;  // the new ones
  std::vector<double> logprobs;
  StopReason reason = StopReason::kLength;
  double prefill_seconds = 0;
  double decode_seconds = 0;  // after the first token
};

// `on_token` sees every new token and says whether to go on; `keep_going` is asked between chunks
// of the prompt as well. Refuses an empty prompt and one that leaves no room for a token.
Result<Generation> generate(Engine& engine, std::span<const int32_t> prompt,
                            const GenerateOptions& options,
                            const std::function<bool(int32_t id)>& on_token,
                            const std::function<bool()>& keep_going);

}  // namespace trilith::engine
