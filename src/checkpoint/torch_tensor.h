// The tensor builders of torch/_utils.py, evaluated on pickle values: from a call's arguments to a
// window on a storage.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/tensor_view.h"
#include "checkpoint/pickle.h"

namespace trilith::checkpoint {

// What a pickle may call: the builders of tensors, torch.Size and torch.device.
std::span<const std::string_view> torch_callables();

// Whether a value is a call to a builder of tensors.
bool is_torch_tensor(const Pickle& pickle, const PickleValue& value);

struct TorchTensor {
  DType dtype = DType::kU8;
  Shape shape;
  Shape stride;              // in elements
  std::string_view storage;  // key of the zip entry
  uint64_t offset = 0;       // in elements

  // Row-major without holes, so that the elements are one run of bytes.
  bool is_contiguous() const;
  // Elements of the storage from `offset` to the last one touched; 0 when there is none.
  uint64_t span() const;
};

Result<TorchTensor> torch_tensor(const Pickle& pickle, const PickleValue& call);

// The elements of a non-contiguous tensor in row-major order. `storage` begins at the tensor's
// offset and was held against span().
std::vector<std::byte> gather(const TorchTensor& tensor, std::span<const std::byte> storage);

}  // namespace trilith::checkpoint
