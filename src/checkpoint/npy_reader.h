// NumPy's .npy files (numpy/lib/format.py): a magic, a version, a Python dict literal with the keys
// descr, fortran_order and shape, then the elements. The literal is read by a parser of its own
// that knows nothing else; arrays of Python objects are pickles inside and are refused.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace trilith::checkpoint {

struct NpyContent {
  TensorView tensor;  // without a name; a view into the bytes parsed, or into `copy`
  // The elements in row-major order when the file has them column after column.
  std::shared_ptr<const std::vector<std::byte>> copy;
};

// Refuses: other magics and versions, a header beyond 64 KiB or the file, descriptions of anything
// but one little-endian number type, more than 32 dimensions, and files that are shorter or longer
// than the shape says.
Result<NpyContent> parse_npy(std::span<const std::byte> bytes, const std::string& file);

}  // namespace trilith::checkpoint
