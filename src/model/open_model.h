// open_model: everything a verb needs to work with a model, from a path: files, architecture,
// format, weights, tokenizer. The one place where it is decided which format a model has:
//   1. the sheet the user names
//   2. trilith_sheet.json beside the weights
//   3. the format the checkpoint announces, held against the bytes
//   4. what `inspect` finds out, when the caller passes such a function
// A format that does not fit the bytes is refused with one line; the next in the list is tried only
// when there is nothing to try before it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/format_sheet.h"
#include "model/model_spec.h"
#include "model/weights.h"
#include "text/tokenizer.h"

namespace trilith::model {

enum class SheetOrigin { kNamed, kBeside, kAnnounced, kInspected };
std::string_view origin_name(SheetOrigin origin);

// Works a format out from the bytes; must return an identified sheet or an error.
using InspectFunction =
    std::function<Result<FormatSheet>(const checkpoint::Checkpoint&, const ModelSpec&)>;

struct OpenOptions {
  std::string sheet;           // path; empty: none named
  std::string tokenizer = {};  // path; empty: that of the model
  InspectFunction inspect;     // empty: ambiguous formats are refused
  LoadOptions load;
};

struct LoadedModel {
  checkpoint::Checkpoint checkpoint;
  ModelSpec spec;
  FormatSheet sheet;
  SheetOrigin origin = SheetOrigin::kAnnounced;
  Weights weights;
  std::optional<text::Tokenizer> tokenizer;  // none when the model has none that is read
  std::optional<Error> no_tokenizer;         // why, where a GGUF file has one that is not
  std::string tokenizer_sha256;              // of tokenizer.json, or empty
};

constexpr const char* kSheetFile = "trilith_sheet.json";

Result<LoadedModel> open_model(const std::string& path, const OpenOptions& options = {});

// Steps 1 to 4 alone, without loading weights.
struct ResolvedSheet {
  FormatSheet sheet;
  SheetOrigin origin = SheetOrigin::kAnnounced;
};
Result<ResolvedSheet> resolve_sheet(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec,
                                    const OpenOptions& options);

}  // namespace trilith::model
