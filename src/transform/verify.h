// verify: a converted checkpoint, opened again as any model is, against its source: every weight
// and every dense value as float32, bit for bit (0 and −0 are one), and every tensor that was
// carried over, byte for byte.
#pragma once

#include <functional>

#include "transform/source.h"

namespace trilith::transform {

// The number of values compared; an error of kind kVerification names the first that differs.
Result<int64_t> verify_conversion(const Source& source, const std::string& output,
                                  const model::LoadOptions& options,
                                  const std::function<Status()>& after_part);

}  // namespace trilith::transform
