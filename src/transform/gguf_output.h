// The keys of a GGUF file: what llama.cpp reads of an architecture, and the tokenizer, from
// tokenizer.json, where it is a byte-level BPE.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/gguf_writer.h"
#include "transform/plan.h"

namespace trilith::transform {

// The whole file. `path` is written under a temporary name and renamed; what could not be carried
// over is added to `notes`.
Status write_gguf(const ConvertRequest& request, const Source& source, const Plan& plan,
                  const std::string& path, const std::function<Status()>& after_part,
                  std::vector<std::string>& notes);

}  // namespace trilith::transform
