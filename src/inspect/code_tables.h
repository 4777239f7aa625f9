// Code tables for three codes in use: which is zero and which of the others is +1. The usual tables
// (the ones packers are known to write) come first.
#pragma once

#include <vector>

#include "inspect/alphabet.h"
#include "inspect/geometry.h"
#include "packing/spec.h"

namespace trilith::inspect {

struct TableChoice {
  packing::PackingSpec spec;  // the geometry with its code table set
  int zero_code = 0;
  bool usual = false;  // {0,+1,-1}, {-1,0,+1}, two's complement, code - 2, positive plane first
};

// The two tables (one a sign) that make `zero_code` zero. `codes`: the three codes that occur, as
// the bare geometry reads them.
std::vector<TableChoice> ternary_tables(const Geometry& geometry, const std::vector<int>& codes,
                                        int zero_code);
// Whole bytes as 8-bit integers around `centre`.
packing::PackingSpec byte_integers(const Geometry& geometry, int centre);

}  // namespace trilith::inspect
