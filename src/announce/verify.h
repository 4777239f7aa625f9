// Holds a claim against the bytes: decodes the matrix under the claimed spec and tests what the
// format's writer promises. Sizes, types, alphabet, finite scales, padding, signs of scales, zero
// points, centring, size of the weights, random pages. A claim that fails is contradicted, with the
// numbers; where a rival reading passes, the contradiction names it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "announce/claim.h"
#include "announce/code_figures.h"

namespace trilith::announce {

// A test that the claim passed, with its figures (an object).
struct Finding {
  std::string field;
  std::string test;
  Json numbers;
};

struct Verified {
  std::vector<Finding> findings;
  CodeFigures codes;
  ScaleFigures scales;
  packing::QuantMatrix::Unused unused;
  // Why the bytes contradict the claim; decoding itself may have been possible.
  std::optional<Error> contradiction;
  // Position in claim.rivals of the reading that the bytes support in its place.
  std::optional<size_t> better;
};

// An error: the tensors cannot be decoded under the claimed spec at all. `decoded`, where given,
// takes the matrix under the claimed spec.
Result<Verified> verify(const Claim& claim, packing::QuantMatrix* decoded = nullptr);

}  // namespace trilith::announce
