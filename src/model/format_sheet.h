// FormatSheet: the part of a format sheet (trilith.sheet/1) that a loader needs: which stored
// tensors make up each module, and how they are packed. inspect writes the whole sheet; this reads
// the authority out of it.
//
// How a sheet says what a module is, first match: "role" and "layer" (an integer; none for the
// embedding, the final norm and the head); "map": {"transformers": {"name": …}}; its own "name".
// Entries of "plain" say it the same way or by "module": "model.layers.0.input_layernorm", and a
// bias as "module": "model.layers.0.self_attn.q_proj.bias". Entries that are none of the
// architecture's parts are skipped; the loader names what is missing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/roles.h"
#include "packing/codec.h"
#include "packing/spec.h"

namespace trilith::model {

struct ModuleFormat {
  std::string name;  // the module as stored, without role suffix
  ModuleId id;       // what it is in the architecture
  int64_t rows = 0;
  int64_t cols = 0;
  std::map<std::string, std::string> stored;  // codec role ("codes", "scale") -> tensor name
  packing::PackingSpec spec;
};

struct FormatSheet {
  std::vector<ModuleFormat> modules;  // packed linears
  // module_name(id), or module_name(id) + ".bias" -> stored tensor of dense parts. Parts that are
  // not here lie under their own name in the checkpoint.
  std::map<std::string, std::string> plain;
  Json activation;  // what all modules agree on ("none", "dynamic-token", …), or null
  const ModuleFormat* find(const ModuleId& id) const;
};

// Refuses sheets of another schema, sheets whose verdict is not "identified" (a sheet without a
// verdict counts as identified), and anything malformed, by name.
Result<FormatSheet> format_sheet_from_json(const Json& sheet);
Result<FormatSheet> read_format_sheet(const std::string& path);
// A sheet with what the loader needs and nothing else; format_sheet_from_json reads it back equal.
Json to_json(const FormatSheet& sheet);
// The views of a module's tensors; an error names what is missing.
Result<packing::TensorsByRole> module_tensors(const checkpoint::Checkpoint& checkpoint,
                                              const ModuleFormat& module);

}  // namespace trilith::model
