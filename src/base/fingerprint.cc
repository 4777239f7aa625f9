#include "base/fingerprint.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/splitmix.h"

namespace trilith {
namespace {

// The step keeps 0 from staying 0.
uint64_t mix(uint64_t x) { return splitmix_finalise(x + kSplitMixStep); }

template <typename T>
Fingerprint of(std::span<const T> values) {
  Fingerprint result;
  for (const T value : values) {
    if constexpr (std::is_same_v<T, float>) {
      result.add(value);
    } else {
      result.add(static_cast<uint64_t>(static_cast<int64_t>(value)));
    }
  }
  return result;
}

}  // namespace

void Fingerprint::add(uint64_t element) {
  const uint64_t mixed = mix(element);
  ordered = mix(ordered ^ mixed) + count;
  multiset += mixed;
  ++count;
}

void Fingerprint::add(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value == 0.0F) bits = 0;
  if (std::isnan(value)) bits = 0x7fc00000U;
  add(static_cast<uint64_t>(bits));
}

Fingerprint fingerprint(std::span<const float> values) { return of(values); }
Fingerprint fingerprint(std::span<const int8_t> values) { return of(values); }
Fingerprint fingerprint(std::span<const int32_t> values) { return of(values); }

std::string hex64(uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace trilith
