// Target: a format that `convert --to` takes: dense float32, float16 or bfloat16, or a row of the
// catalogue that can be written, with the library that reads it; and the same as a GGUF file, where
// ggml has the type. The spec of a row leaves open what
// its format leaves open, and is settled here for the model at hand: the size of groups (that of
// the source's scales, as far as the library takes it) and the type of scales.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/ggml_types.h"
#include "packing/catalogue.h"
#include "transform/library_names.h"

namespace trilith::transform {

struct Target {
  std::string name;
  std::string title;
  std::optional<DType> dense;                  // one of the float types, or
  const packing::CatalogueRow* row = nullptr;  // a packed format
  const Library* library = nullptr;            // null: plain names and a format sheet
  const checkpoint::GgmlType* ggml = nullptr;  // of the linears of a GGUF file; null: safetensors
};

// Dense types first, then the rows in the catalogue's order; those that cannot be encoded are left
// out.
const std::vector<Target>& targets();
// An error of a wrong call for a name that is none, with the nearest ones.
Result<const Target*> find_target(std::string_view name);

// How the scales of a model lie, from its format alone.
struct ScaleGrain {
  int64_t group = 0;   // inputs a scale; 0: whole rows
  int64_t common = 0;  // divides the inputs of every packed linear
};

// The row's spec with groups for a model. `wanted` is the user's choice, or 0.
Result<packing::PackingSpec> grouped_spec(const Target& target, const ScaleGrain& grain,
                                          int64_t wanted);

// `spec` in every type of scale that the format may have, the row's own first.
std::vector<packing::PackingSpec> with_scale_types(const Target& target,
                                                   const packing::PackingSpec& spec);

}  // namespace trilith::transform
