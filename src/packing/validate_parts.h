// The halves of validate(): the law and the places of its fields, and the rest.
#pragma once

#include <fmt/format.h>

#include "packing/spec.h"

// Returns from a function of Status what is inconsistent.
#define TRILITH_REQUIRE(condition, ...)                                              \
  do {                                                                               \
    if (!(condition)) {                                                              \
      return Error::usage("inconsistent packing spec: " + fmt::format(__VA_ARGS__)); \
    }                                                                                \
  } while (false)

namespace trilith::packing {

constexpr int64_t kMaxRun = int64_t{1} << 31;  // elements of slots · stride, of a block or group
constexpr int64_t kMaxEntries = int64_t{1} << 20;  // of a field or a filling

bool is_permutation_of(const std::vector<int>& order, int slots);
Status check_law(const PackingSpec& spec);
// Where fields may lie, and what they go with.
Status check_places(const PackingSpec& spec);

}  // namespace trilith::packing
