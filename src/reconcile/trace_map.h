// TraceMap: which point of a trace a dumped tensor is, by its name. A value; read from JSON
//   {"points": {"ids": "tokens", "layers.{i}.q_proj": ["layer{i}_attn_q", "blk.{i}.q"], …},
//    "first_layer": 0, "first_prompt": 0}
// where {i} is the number of the layer, {p} of the prompt, and the numbers say from what the dump
// counts. A name of a map is matched as it is; in the built-in one '.', '_', '-', '/' and a change
// from letters to digits are the same separator and capitals are small letters, so that
// "Layer_0.attn-q" is "layer0_attn_q".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::reconcile {

struct DumpPlace {
  std::string point;  // "ids", "embed", "layers.3.q_proj"
  int64_t prompt = 0;
  bool names_prompt = false;  // the name has a {p}
  bool operator==(const DumpPlace&) const = default;
};

class TraceMap {
 public:
  // The names that dumps commonly have: CONTRACT's own, module paths of transformers, short forms
  // such as layer0_attn_q, and the tensors llama.cpp's eval-callback prints.
  static const TraceMap& builtin();
  static Result<TraceMap> from_json(const Json& json);

  // Where the tensor `name` (a file's path in the dump without its ending) belongs.
  std::optional<DumpPlace> find(std::string_view name) const;
  // For messages: names of the map, the first of each point.
  std::string examples() const;

 private:
  struct Entry {
    std::string point;
    std::vector<std::string> names;
  };
  std::vector<Entry> entries_;
  int64_t first_layer_ = 0;
  int64_t first_prompt_ = 0;
  bool loose_ = false;
};

}  // namespace trilith::reconcile
