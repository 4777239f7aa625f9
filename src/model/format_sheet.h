// FormatSheet: the part of a format sheet (trilith.sheet/1) that a loader needs: which stored
// tensors make up each module, and how they are packed. inspect writes the whole sheet; this reads
// the authority out of it.
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
  std::vector<ModuleFormat> modules;         // packed linears
  std::map<std::string, std::string> plain;  // module_name(id) -> stored tensor of dense parts
  Json activation;                           // as the sheet states it, or null
  const ModuleFormat* find(const ModuleId& id) const;
};

Result<FormatSheet> format_sheet_from_json(const Json& sheet);
Result<FormatSheet> read_format_sheet(const std::string& path);
// The views of a module's tensors; an error names what is missing.
Result<packing::TensorsByRole> module_tensors(const checkpoint::Checkpoint& checkpoint,
                                              const ModuleFormat& module);

}  // namespace trilith::model
