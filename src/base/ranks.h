// Ranks and Spearman's correlation of them: how alike the orders of two profiles are, whatever
// their units and outliers.
#pragma once

#include <span>
#include <vector>

namespace trilith {

// Average ranks, 0-based; equal values share their mean rank.
std::vector<double> ranks(std::span<const double> values);
// Spearman's rho; 0 when one side is constant, the lengths differ, or there are fewer than three.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace trilith
