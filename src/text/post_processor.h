// What is put around the ids of a text (bos, eos): TemplateProcessing, and ByteLevel, which only
// moves offsets. Immutable after load.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::text {

struct PostProcessor {
  std::vector<int32_t> before;
  std::vector<int32_t> after;

  // `json` is the "post_processor" member; null adds nothing. Ids must be below `vocab_size`.
  static Result<PostProcessor> from_json(const Json& json, int32_t vocab_size);
};

}  // namespace trilith::text
