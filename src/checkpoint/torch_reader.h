// PyTorch's zip files (torch.save since 1.6): <name>/data.pkl is a pickle of the saved value, and
// <name>/data/<key> are the storages its tensors name (torch/serialization.py, torch/_utils.py).
// Tensors are found in nested dicts, lists and tuples and named by their path, joined by dots; a
// dict that alone holds tensors under "state_dict", "model_state_dict", "model" or "module" is
// taken as the root. The pickle is read as data (pickle.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace trilith::checkpoint {

struct TorchContent {
  std::vector<TensorView> tensors;  // in the order of the pickle
  Json metadata;                    // path -> number, text or truth value
  // Tensors that do not lie in row-major order (transposed, strided, expanded) are copied: these
  // buffers hold the copies, and must outlive the views as the bytes parsed must.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> copies;
};

// Refuses: what parse_zip and parse_pickle refuse, callables that build no plain tensor (by name),
// TorchScript and big-endian files, storages that are missing or too small, dtypes this program has
// not, names that occur twice, copies beyond 128 MiB in all, and a data.pkl that fails its checksum
// (the storages are not read for one).
Result<TorchContent> parse_torch(std::span<const std::byte> bytes, const std::string& file);

}  // namespace trilith::checkpoint
