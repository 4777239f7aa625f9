// The named formats: one row each, a PackingSpec with its name, where it is met, and its source.
// Adding a format is adding a row, a golden vector (tests/golden/packing) and a line of
// docs/FORMATS.md.
#pragma once

#include <span>
#include <string_view>

#include "packing/spec.h"

namespace trilith::packing {

struct CatalogueRow {
  std::string_view name;    // "hf-bitnet", as `convert --to` takes it
  std::string_view title;   // for people
  std::string_view source;  // the writer that defines it, and its version
  PackingSpec spec;
};

std::span<const CatalogueRow> catalogue();
const CatalogueRow* find_format(std::string_view name);
// A format that is known by name alone.
struct UnreadFormat {
  std::string_view name;
  std::string_view title;
  std::string_view needs;  // what reading it would take
};
std::span<const UnreadFormat> unread_formats();
const UnreadFormat* find_unread_format(std::string_view name);

// The row whose spec equals `spec` up to dtypes of scales, or nullptr.
const CatalogueRow* name_of(const PackingSpec& spec);

}  // namespace trilith::packing
