// The search over readings of one family of modules: sizes leave a few arrangements, the alphabet
// says what codes there are, the zero-code, scale, dispersion and alignment tests weigh what is
// left. What comes out is every reading that the bytes do not rule out, likeliest first.
#pragma once

#include <string>
#include <vector>

#include "inspect/alignment.h"
#include "inspect/arrangement.h"
#include "inspect/hypothesis.h"
#include "inspect/profiles.h"
#include "inspect/zero_code.h"

namespace trilith::inspect {

class DenseSibling;

struct SearchContext {
  ConfigSizes sizes;
  std::vector<ProfiledPlain> plain;
  HeadSizes heads;
  IdsByName ids;
  bool lone_tensors = false;
  const DenseSibling* sibling = nullptr;  // of the user's --reference
};

struct Reading {
  Hypothesis hypothesis;
  size_t arrangement = 0;
};

struct FamilySearch {
  std::vector<Arrangement> arrangements;
  std::vector<Reading> readings;  // likeliest first; empty when refused
  // Figures of the tests that all readings share.
  std::vector<uint64_t> code_counts;  // of the codes as the bare geometry reads them
  ZeroCodeFinding zero;
  std::vector<int> codes;             // in use
  std::vector<Alignment> alignments;  // parallel to arrangements, of the likeliest table
  size_t weighed = 0;                 // modules whose codes the tests looked at; 0: all
  // What the best reading leaves unexplained or unconfirmed, in words; it is then ambiguous.
  std::vector<std::string> doubts;
  bool misfit = false;  // a doubt other than that of the order
  std::string module;   // of the refusal
  std::string refusal;
};

FamilySearch search_family(const std::vector<const CodeGroup*>& groups,
                           const SearchContext& context);

}  // namespace trilith::inspect
