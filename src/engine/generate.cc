#include "engine/generate.h"

#include <algorithm>
#include <chrono>

namespace trilith::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Status check_options(const model::ModelSpec& spec, std::span<const int32_t> prompt,
                     const GenerateOptions& options) {
  TRILITH_RETURN_IF_ERROR(check_sampling(options.sampling));
  if (options.max_new_tokens < 0 || options.prefill_chunk < 1) {
    return Error::usage("a negative number of tokens");
  }
  if (prompt.empty()) {
    return Error::usage("the prompt has no tokens")
        .with_hint("give a text, or the id of a token to start from");
  }
  const auto length = static_cast<int64_t>(prompt.size());
  const int64_t room = spec.max_position_embeddings - (options.max_new_tokens > 0 ? 1 : 0);
  if (length > room) {
    return Error::usage("the prompt does not fit the context of the model")
        .with_expected("at most " + std::to_string(room) + " tokens")
        .with_found(std::to_string(length));
  }
  return {};
}

}  // namespace

std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kStopToken:
      return "eos";
    case StopReason::kLength:
      return "length";
    case StopReason::kContext:
      return "context";
    case StopReason::kStopped:
      return "interrupted";
  }
  TRILITH_CHECK(false);
}

Result<Generation> generate(Engine& engine, std::span<const int32_t> prompt,
                            const GenerateOptions& options,
                            const std::function<bool(int32_t id)>& on_token,
                            const std::function<bool()>& keep_going) {
  TRILITH_RETURN_IF_ERROR(check_options(engine.spec(), prompt, options));
  const auto prompt_length = static_cast<int64_t>(prompt.size());
  // The last token is sampled but never fed back.
  const int64_t context = engine.spec().max_position_embeddings;
  const int64_t wanted = prompt_length + std::min(options.max_new_tokens, context);
  TRILITH_ASSIGN_OR_RETURN(KvCache cache, engine.make_cache(std::min(wanted, context)));
  Generation generation;
  auto start = Clock::now();
  Logits logits;
  for (int64_t first = 0; first < prompt_length; first += options.prefill_chunk) {
    if (!keep_going()) {
      generation.reason = StopReason::kStopped;
      return generation;
    }
    const int64_t count = std::min(options.prefill_chunk, prompt_length - first);
    const bool last = first + count == prompt_length;
    const auto ids = prompt.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    TRILITH_ASSIGN_OR_RETURN(
        logits,
        engine.forward({{{&cache, ids, last ? LogitsWanted::kLast : LogitsWanted::kNone}}}));
  }
  generation.prefill_seconds = seconds_since(start);
  start = Clock::now();
  while (static_cast<int64_t>(generation.ids.size()) < options.max_new_tokens) {
    const auto position =
        static_cast<uint64_t>(prompt_length) + static_cast<uint64_t>(generation.ids.size());
    TRILITH_ASSIGN_OR_RETURN(const Sample next, sample(logits.row(0), options.sampling, position));
    if (std::find(options.stop_ids.begin(), options.stop_ids.end(), next.id) !=
        options.stop_ids.end()) {
      generation.reason = StopReason::kStopToken;
      break;
    }
    generation.ids.push_back(next.id);
    generation.logprobs.push_back(next.logprob);
    if (!on_token(next.id) || !keep_going()) {
      generation.reason = StopReason::kStopped;
      break;
    }
    if (static_cast<int64_t>(generation.ids.size()) == options.max_new_tokens) break;
    if (cache.length() == cache.capacity()) {
      generation.reason = StopReason::kContext;
      break;
    }
    const int32_t id = next.id;
    TRILITH_ASSIGN_OR_RETURN(logits,
                             engine.forward({{{&cache, std::span(&id, 1), LogitsWanted::kLast}}}));
  }
  generation.decode_seconds = seconds_since(start);
  return generation;
}

}  // namespace trilith::engine
