// Code tables. Weights are spread symmetrically around zero, the smaller the commoner; in the right
// order of levels the histogram of codes has that shape, in a wrong one it does not. What the best
// such distribution explains worse than the histogram itself is the cost of a table in nats.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "inspect/code_statistics.h"

namespace trilith::inspect {

// Nats ≤ 0; −infinity when a code without a level occurs more than once in a hundred times.
double level_shape_nats(const CodeHistogram& counts, std::span<const std::optional<double>> levels);

// The same over numbers that no table gives: (code − zero point) of every weight, rounded.
double symmetric_shape_nats(std::span<const std::pair<double, double>> level_counts);

}  // namespace trilith::inspect
