// From figures to sheet entries: what is known of each field of a family and how, which readings
// remain, and one module's numbers.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "checkpoint/checkpoint.h"
#include "inspect/config_sizes.h"
#include "inspect/decision.h"
#include "inspect/sheet.h"
#include "inspect/tensor_summary.h"

namespace trilith::inspect {

// `family.readings` ranked; `assumed`: fields that the user settled.
FamilySheet write_family(const FamilySearch& family, const std::optional<ProbeScale>& probe,
                         const std::set<std::string>& assumed);

// What a sheet says of the checkpoint as a whole.
void describe_checkpoint(const checkpoint::Checkpoint& checkpoint, const ConfigSizes& sizes,
                         Sheet& sheet);

// Name, form and range of a tensor that is not packed; its role stays open.
PlainSheet describe_plain(const TensorView& tensor, const TensorSummary& summary);

// Decodes the module under `spec` for its zero share, unused codes and scale range.
Result<ModuleSheet> describe_module(const PackedModule& module, const packing::PackingSpec& spec,
                                    const packing::PackingSpec* rival);

}  // namespace trilith::inspect
