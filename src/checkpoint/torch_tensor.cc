#include "checkpoint/torch_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace trilith::checkpoint {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kCallables[] = {
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch._tensor._rebuild_from_type_v2",
    "torch.Size",
    "torch.device",
};
constexpr size_t kBuilders = 5;  // the first of them make tensors

constexpr int kMaxNesting = 4;  // a parameter of a tensor of a type
constexpr size_t kMaxDimensions = 32;
constexpr size_t kMaxKeyBytes = 256;  // of a storage
constexpr int64_t kMaxExtent = int64_t{1} << 48;

struct TorchDType {
  std::string_view name;     // of torch.dtype
  std::string_view storage;  // of the old storage class, or empty
  DType dtype;
};
constexpr TorchDType kDTypes[] = {
    {"float64", "DoubleStorage", DType::kF64},
    {"float32", "FloatStorage", DType::kF32},
    {"float16", "HalfStorage", DType::kF16},
    {"bfloat16", "BFloat16Storage", DType::kBF16},
    {"int64", "LongStorage", DType::kI64},
    {"int32", "IntStorage", DType::kI32},
    {"int16", "ShortStorage", DType::kI16},
    {"int8", "CharStorage", DType::kI8},
    {"uint8", "ByteStorage", DType::kU8},
    {"bool", "BoolStorage", DType::kBool},
    {"uint16", "", DType::kU16},
    {"uint32", "", DType::kU32},
    {"uint64", "", DType::kU64},
    {"float8_e4m3fn", "", DType::kF8E4M3},
    {"float8_e5m2", "", DType::kF8E5M2},
    {"float8_e8m0fnu", "", DType::kF8E8M0},
};

Error misshapen(std::string_view what) {
  return Error::damaged(fmt::format("the pickle builds a tensor wrongly: {}", what));
}

class Builder {
 public:
  explicit Builder(const Pickle& pickle) : pickle_(pickle) {}

  Result<TorchTensor> build(const PickleValue& call, int depth) const {
    if (depth > kMaxNesting || !is_torch_tensor(pickle_, call)) return misshapen("no tensor");
    const PickleValue& callable = pickle_.at(call.items[0]);
    const auto& arguments = pickle_.at(call.items[1]).items;
    if (callable.name == "_rebuild_tensor_v2") return from_storage(arguments, false);
    if (callable.name == "_rebuild_tensor_v3") return from_storage(arguments, true);
    if (callable.name == "_rebuild_from_type_v2") return from_type(arguments, depth);
    if (arguments.empty()) return misshapen("a parameter of nothing");
    return build(pickle_.at(arguments[0]), depth + 1);  // a parameter
  }

 private:
  // (builder, type, arguments, state): a tensor with attributes. Other types than torch's own mean
  // something else by their data.
  Result<TorchTensor> from_type(const std::vector<uint32_t>& arguments, int depth) const {
    if (arguments.size() < 3) return misshapen("too few arguments");
    const PickleValue& type = pickle_.at(arguments[1]);
    const std::string name = fmt::format("{}.{}", type.text, type.name);
    if (type.kind != Kind::kGlobal ||
        (name != "torch.Tensor" && name != "torch.nn.parameter.Parameter" &&
         name != "torch.nn.parameter.Buffer")) {
      return Error::unsupported("the tensor is of a class this program does not know")
          .with_found(name);
    }
    PickleValue call{.kind = Kind::kCall, .items = {arguments[0], arguments[2]}};
    return build(call, depth + 1);
  }

  // (storage, offset, size, stride, …); v3 has the dtype as the seventh.
  Result<TorchTensor> from_storage(const std::vector<uint32_t>& arguments, bool typed) const {
    if (arguments.size() < (typed ? 7U : 4U)) return misshapen("too few arguments");
    TorchTensor tensor;
    TRILITH_ASSIGN_OR_RETURN(const TorchDType* storage_dtype,
                             read_storage(pickle_.at(arguments[0]), tensor));
    if (typed) {
      const PickleValue& dtype = pickle_.at(arguments[6]);
      TRILITH_ASSIGN_OR_RETURN(storage_dtype, dtype_of(dtype, &TorchDType::name));
    }
    if (storage_dtype == nullptr) return misshapen("a storage without a type");
    tensor.dtype = storage_dtype->dtype;
    const PickleValue& offset = pickle_.at(arguments[1]);
    if (offset.kind != Kind::kInteger || offset.integer < 0 || offset.integer > kMaxExtent) {
      return misshapen("an offset that is none");
    }
    tensor.offset = static_cast<uint64_t>(offset.integer);
    TRILITH_ASSIGN_OR_RETURN(tensor.shape, numbers(pickle_.at(arguments[2])));
    TRILITH_ASSIGN_OR_RETURN(tensor.stride, numbers(pickle_.at(arguments[3])));
    if (tensor.shape.size() != tensor.stride.size()) return misshapen("size and stride differ");
    TRILITH_RETURN_IF_ERROR(byte_count(tensor.dtype, tensor.shape));
    TRILITH_RETURN_IF_ERROR(check_span(tensor));
    return tensor;
  }

  // ('storage', class, key, location, count). Null for a storage of bytes.
  Result<const TorchDType*> read_storage(const PickleValue& value, TorchTensor& tensor) const {
    const PickleValue* id = value.kind == Kind::kPersistent ? &pickle_.at(value.items[0]) : nullptr;
    if (id == nullptr || id->kind != Kind::kTuple || id->items.size() < 5 ||
        pickle_.at(id->items[0]).text != "storage" ||
        pickle_.at(id->items[2]).kind != Kind::kText ||
        pickle_.at(id->items[2]).text.size() > kMaxKeyBytes) {
      return misshapen("no storage");
    }
    tensor.storage = pickle_.at(id->items[2]).text;
    const PickleValue& type = pickle_.at(id->items[1]);
    if (type.kind == Kind::kGlobal && type.text == "torch.storage" &&
        type.name == "UntypedStorage") {
      return nullptr;
    }
    return dtype_of(type, &TorchDType::storage);
  }

  Result<const TorchDType*> dtype_of(const PickleValue& value,
                                     std::string_view TorchDType::*field) const {
    if (value.kind != Kind::kGlobal || value.text != "torch") return misshapen("no dtype");
    const auto* found = std::ranges::find(kDTypes, value.name, field);
    if (found != std::end(kDTypes)) return found;
    return Error::unsupported(fmt::format("tensors of torch.{} are not supported", value.name));
  }

  Result<Shape> numbers(const PickleValue& value) const {
    const PickleValue* tuple = &value;
    if (value.kind == Kind::kCall && pickle_.at(value.items[0]).name == "Size") {  // torch.Size(…)
      const auto& arguments = pickle_.at(value.items[1]).items;
      if (!arguments.empty()) tuple = &pickle_.at(arguments[0]);
    }
    if (tuple->kind != Kind::kTuple || tuple->items.size() > kMaxDimensions) {
      return misshapen("a size that is none");
    }
    Shape shape;
    for (const uint32_t item : tuple->items) {
      const PickleValue& number = pickle_.at(item);
      if (number.kind != Kind::kInteger || number.integer < 0 || number.integer > kMaxExtent) {
        return misshapen("a size or stride that is none");
      }
      shape.push_back(number.integer);
    }
    return shape;
  }

  static Status check_span(const TorchTensor& tensor) {
    int64_t last = 0;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      const int64_t steps = std::max<int64_t>(tensor.shape[i] - 1, 0);
      if (steps > 0 && tensor.stride[i] > (kMaxExtent - last) / steps) {
        return misshapen("strides beyond any storage");
      }
      last += steps * tensor.stride[i];
    }
    return {};
  }

  const Pickle& pickle_;
};

// Called for tensors of one dimension or more: without one a tensor is contiguous.
void gather_from(const TorchTensor& tensor, size_t axis, const std::byte* from,
                 std::vector<std::byte>& out) {
  const size_t size = dtype_size(tensor.dtype);
  const uint64_t step = static_cast<uint64_t>(tensor.stride[axis]) * size;
  const auto count = static_cast<uint64_t>(tensor.shape[axis]);
  for (uint64_t i = 0; i < count; ++i) {
    const std::byte* element = from + i * step;
    if (axis + 1 < tensor.shape.size()) {
      gather_from(tensor, axis + 1, element, out);
    } else {
      out.insert(out.end(), element, element + size);
    }
  }
}

}  // namespace

std::span<const std::string_view> torch_callables() { return kCallables; }

bool is_torch_tensor(const Pickle& pickle, const PickleValue& value) {
  if (value.kind != Kind::kCall) return false;
  const PickleValue& callable = pickle.at(value.items[0]);
  const auto is_named = [&](std::string_view full) {  // without a string for each of 10^5 tensors
    return full.size() == callable.text.size() + 1 + callable.name.size() &&
           full.starts_with(callable.text) && full[callable.text.size()] == '.' &&
           full.ends_with(callable.name);
  };
  return callable.kind == Kind::kGlobal && pickle.at(value.items[1]).kind == Kind::kTuple &&
         std::ranges::any_of(std::span(kCallables).first(kBuilders), is_named);
}

bool TorchTensor::is_contiguous() const {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && stride[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

uint64_t TorchTensor::span() const {
  uint64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += static_cast<uint64_t>((shape[i] - 1) * stride[i]);
  }
  return last + 1;
}

Result<TorchTensor> torch_tensor(const Pickle& pickle, const PickleValue& call) {
  return Builder(pickle).build(call, 0);
}

std::vector<std::byte> gather(const TorchTensor& tensor, std::span<const std::byte> storage) {
  std::vector<std::byte> bytes;
  bytes.reserve(*byte_count(tensor.dtype, tensor.shape));
  gather_from(tensor, 0, storage.data(), bytes);
  return bytes;
}

}  // namespace trilith::checkpoint
