// Code tables for a histogram of codes: the number systems that packers use (two's complement,
// offset, sign and magnitude, small floats) and, where only two to four codes occur, the tables of
// binary, ternary and four-level weights.
#pragma once

#include <vector>

#include "inspect/code_statistics.h"
#include "packing/spec.h"

namespace trilith::inspect {

struct TableReading {
  packing::PackingSpec spec;  // with its code table
  double nats = 0;            // shape of the histogram over the levels, conventions
};

// Best first; those that the histogram rules out are left out.
std::vector<TableReading> table_readings(const packing::PackingSpec& bare,
                                         const CodeStatistics& statistics);

// The same reading with every sign turned, where a packer could write that table as well.
std::vector<packing::PackingSpec> with_signs_turned(const packing::PackingSpec& spec);

}  // namespace trilith::inspect
