// The work of a sheet that divides by module or tensor, on a few threads. Every index has its own
// place for the result, so that it does not depend on their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace trilith::inspect {

// Calls body(i) for every i below `count`; `body` must not throw. `weights`: of the largest matrix
// that one call decodes, a byte each: threads are as many as the processor has, at most four, and
// fewer where their matrices together would fill more than 128 MiB.
void for_each(size_t count, int64_t weights, const std::function<void(size_t)>& body);

}  // namespace trilith::inspect
