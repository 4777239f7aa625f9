// Random consistent specs over every axis that decode knows, and matrices for them. Call inside a
// RapidCheck property.
#pragma once

#include "packing/codec.h"

namespace trilith::packing::testing {

int64_t roll(int64_t low, int64_t high);  // both included
bool coin();
template <typename T>
T pick(const std::vector<T>& choices) {
  return choices[static_cast<size_t>(roll(0, static_cast<int64_t>(choices.size()) - 1))];
}

// A spec that fits W[rows, cols] (scales and segments divide it).
PackingSpec random_spec(int64_t rows, int64_t cols);
// With axes that only JSON carries: tiles, pairs, row maps, what surrounds the linear.
PackingSpec random_spec_for_json();
// Codes that have a level; scales and zero points that the spec's types hold exactly.
QuantMatrix random_matrix(const PackingSpec& spec, int64_t rows, int64_t cols);

}  // namespace trilith::packing::testing
