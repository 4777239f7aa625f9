// inspect: from a checkpoint to its sheet. The files are read, never run; the same bytes and
// options always give the same sheet.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "inspect/dense_sibling.h"
#include "inspect/sheet.h"

namespace trilith::inspect {

struct InspectOptions {
  bool probe = true;
  std::string probe_text;                                   // empty: the built-in one
  std::vector<std::pair<std::string, std::string>> assume;  // field of the spec, value
  // The unquantised model or one of its matrices, which settles what statistics leave open; may be
  // null.
  const DenseSibling* reference = nullptr;
};

// Damage and unknown formats are a sheet with the verdict refused; an error means that the options
// do not fit what was found.
Result<Sheet> inspect_checkpoint(const checkpoint::Checkpoint& checkpoint,
                                 const InspectOptions& options);
// The sheet of a checkpoint that could not be opened.
Sheet refused_sheet(const Error& error);

// Every packed matrix of a sheet as F32 [N, K] under its module's name, one at a time.
Status unpack(const checkpoint::Checkpoint& checkpoint, const Sheet& sheet,
              const std::string& path);

}  // namespace trilith::inspect
