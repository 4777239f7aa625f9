// Prompt files: what trace, baseline and eval are fed with.
//   texts: UTF-8, one prompt a line, or JSON lines {"prompt": "…"}; blank lines are skipped
//   ids:   JSON lines, each a list of integers
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trilith::reconcile {

// JSON lines when the first line that is not blank is a JSON object. Errors name the line.
Result<std::vector<std::string>> parse_prompts(std::string_view text);
Result<std::vector<std::vector<int32_t>>> parse_id_lists(std::string_view text);

}  // namespace trilith::reconcile
