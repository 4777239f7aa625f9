#include "inspect/code_tables.h"

#include <algorithm>
#include <array>

namespace trilith::inspect {
namespace {

using packing::CodeTable;
using packing::PackingSpec;
using packing::PlaneRole;
using packing::Symbol;

// Levels of codes 0 … 3; 9 = unused.
using Levels = std::array<int, 4>;
constexpr int kUnused = 9;
constexpr Levels kUsual[] = {
    {0, 1, -1, kUnused}, {-1, 0, 1, kUnused}, {0, 1, kUnused, -1}, {kUnused, -1, 0, 1}};

CodeTable table_of(const Levels& levels, size_t entries) {
  std::vector<std::optional<double>> list(entries);
  for (size_t code = 0; code < entries; ++code) {
    if (levels[code] != kUnused) list[code] = levels[code];
  }
  return CodeTable::list(std::move(list));
}

// Planes read as a 2-bit code (the first is bit 0): codes 0, 1, 2 are positive and negative masks;
// 0, 1, 3 and 0, 2, 3 a mask of what is not zero and one of signs.
std::optional<std::vector<PlaneRole>> plane_roles(const std::vector<int>& codes,
                                                  const Levels& levels) {
  if (levels[0] != 0) return std::nullopt;
  if (codes[1] == 1 && codes[2] == 2) {
    return levels[1] > 0 ? std::vector{PlaneRole::kPositive, PlaneRole::kNegative}
                         : std::vector{PlaneRole::kNegative, PlaneRole::kPositive};
  }
  if (codes[1] == 1 && codes[2] == 3 && levels[3] < 0) {
    return std::vector{PlaneRole::kNonzero, PlaneRole::kSign};
  }
  if (codes[1] == 2 && codes[2] == 3 && levels[3] < 0) {
    return std::vector{PlaneRole::kSign, PlaneRole::kNonzero};
  }
  return std::nullopt;
}

}  // namespace

std::vector<TableChoice> ternary_tables(const Geometry& geometry, const std::vector<int>& codes,
                                        int zero_code) {
  std::vector<TableChoice> choices;
  if (codes.size() != 3) return choices;
  // One code a byte: 255 is the byte of −1, which as a 2-bit code is 3.
  std::vector<int> small = codes;
  if (small.back() == 255) small.back() = 3;
  if (small.back() > 3) return choices;
  for (const int first_sign : {1, -1}) {
    Levels levels = {kUnused, kUnused, kUnused, kUnused};
    int sign = first_sign;
    for (size_t i = 0; i < 3; ++i) {
      const auto code = static_cast<size_t>(small[i]);
      levels[code] = codes[i] == zero_code ? 0 : sign;
      if (codes[i] != zero_code) sign = -sign;
    }
    TableChoice choice;
    choice.spec = geometry.spec;
    choice.zero_code = zero_code;
    choice.usual = std::find(std::begin(kUsual), std::end(kUsual), levels) != std::end(kUsual);
    if (geometry.spec.symbol == Symbol::kBitPlanes) {
      const auto roles = plane_roles(small, levels);
      if (!roles) continue;
      choice.spec.planes = *roles;
      choice.spec.code_table = CodeTable::rule(CodeTable::Kind::kPlanes);
      choice.usual = roles->front() != PlaneRole::kNegative;
    } else if (geometry.spec.symbol == Symbol::kBase3) {
      choice.spec.code_table = table_of(levels, 3);
    } else {
      choice.spec.bits = 2;
      choice.spec.code_table = table_of(levels, 4);
      // One code a byte in a signed container: the byte is the number itself.
      if (codes.back() == 255 && (levels[0] != 0 || levels[1] != 1)) continue;
    }
    choices.push_back(std::move(choice));
  }
  std::stable_partition(choices.begin(), choices.end(),
                        [](const TableChoice& choice) { return choice.usual; });
  return choices;
}

PackingSpec byte_integers(const Geometry& geometry, int centre) {
  PackingSpec spec = geometry.spec;
  spec.code_table = centre == 0 ? CodeTable::rule(CodeTable::Kind::kNative)
                                : CodeTable::rule(CodeTable::Kind::kOffset, centre);
  return spec;
}

}  // namespace trilith::inspect
