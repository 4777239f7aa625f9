// What differs between two sheets (trilith.sheet/1): verdict and model, which modules there are,
// and of each module its shape, its packing field by field, and the figures of its codes and
// scales. The evidence may differ freely: it is how something is known, not what.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::inspect {

struct SheetDifference {
  std::string where;  // "verdict", "model.layers.0.mlp.up_proj: spec.law.slot_order"
  Json first;         // null: the first sheet does not have it
  Json second;
};

// An error when one of them is no sheet.
Result<std::vector<SheetDifference>> diff_sheets(const Json& first, const Json& second);

// {"schema": "trilith.sheet-diff/1", "same": …, "differences": [{"where", "first", "second"}]}
Json diff_json(const std::vector<SheetDifference>& differences);
// A line each; equal differences of many modules once, with their number.
std::string diff_text(const std::vector<SheetDifference>& differences);

}  // namespace trilith::inspect
