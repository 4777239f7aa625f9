#include "base/dtype.h"

#include <array>

#include "base/check.h"

namespace trilith {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  uint8_t size;
  bool is_float;
};

constexpr std::array<DTypeRow, 16> kRows = {{
    {DType::kBool, "BOOL", 1, false},
    {DType::kU8, "U8", 1, false},
    {DType::kI8, "I8", 1, false},
    {DType::kU16, "U16", 2, false},
    {DType::kI16, "I16", 2, false},
    {DType::kU32, "U32", 4, false},
    {DType::kI32, "I32", 4, false},
    {DType::kU64, "U64", 8, false},
    {DType::kI64, "I64", 8, false},
    {DType::kF8E4M3, "F8_E4M3", 1, true},
    {DType::kF8E5M2, "F8_E5M2", 1, true},
    {DType::kF8E8M0, "F8_E8M0", 1, true},
    {DType::kF16, "F16", 2, true},
    {DType::kBF16, "BF16", 2, true},
    {DType::kF32, "F32", 4, true},
    {DType::kF64, "F64", 8, true},
}};

const DTypeRow& row_of(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  TRILITH_CHECK(index < kRows.size() && kRows[index].dtype == dtype);
  return kRows[index];
}

}  // namespace

size_t dtype_size(DType dtype) { return row_of(dtype).size; }
std::string_view dtype_name(DType dtype) { return row_of(dtype).name; }
bool is_float(DType dtype) { return row_of(dtype).is_float; }
bool is_integer(DType dtype) { return !is_float(dtype) && dtype != DType::kBool; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeRow& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace trilith
