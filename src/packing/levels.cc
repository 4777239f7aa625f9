// The levels of code tables.
#include <cmath>

#include "packing/spec.h"

namespace trilith::packing {
namespace {

using Levels = std::vector<std::optional<double>>;

// Sign, exponent, mantissa with subnormals, as in IEEE 754.
double small_float(int code, int exponent_bits, int mantissa_bits) {
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  return (code >> (exponent_bits + mantissa_bits)) != 0 ? -magnitude : magnitude;
}

std::optional<double> level_by_rule(const CodeTable& table, int bits, int code) {
  const int half = 1 << (bits - 1);
  switch (table.kind) {
    case CodeTable::Kind::kUnsigned:
      return code;
    case CodeTable::Kind::kTwosComplement:
    case CodeTable::Kind::kNative:
      return code < half ? code : code - 2 * half;
    case CodeTable::Kind::kOffset:
      return static_cast<double>(code) - static_cast<double>(table.offset);
    case CodeTable::Kind::kSignMagnitude:
      return code < half ? code : -(code - half);
    case CodeTable::Kind::kE2M1:
      return small_float(code, 2, 1);
    case CodeTable::Kind::kE4M3:  // the "fn" variant: no infinities, one NaN a sign
      if ((code & 0x7f) == 0x7f) return std::nullopt;
      return small_float(code, 4, 3);
    case CodeTable::Kind::kE5M2:
      if ((code & 0x7f) >= 0x7c) return std::nullopt;
      return small_float(code, 5, 2);
    case CodeTable::Kind::kList:
    case CodeTable::Kind::kTensor:
    case CodeTable::Kind::kPlanes:
      break;
  }
  return std::nullopt;
}

// Plane i gives bit i of the code.
Levels levels_of_planes(const std::vector<PlaneRole>& planes) {
  const auto has = [&](int code, PlaneRole role) {
    for (size_t i = 0; i < planes.size(); ++i) {
      if (planes[i] == role && ((code >> i) & 1) != 0) return true;
    }
    return false;
  };
  Levels levels;
  for (int code = 0; code < (1 << planes.size()); ++code) {
    if (has(code, PlaneRole::kPositive) && has(code, PlaneRole::kNegative)) {
      levels.emplace_back(std::nullopt);
    } else if (has(code, PlaneRole::kPositive)) {
      levels.emplace_back(1.0);
    } else if (has(code, PlaneRole::kNegative)) {
      levels.emplace_back(-1.0);
    } else if (has(code, PlaneRole::kNonzero)) {
      levels.emplace_back(has(code, PlaneRole::kSign) ? -1.0 : 1.0);
    } else {
      levels.emplace_back(0.0);
    }
  }
  return levels;
}

}  // namespace

CodeTable CodeTable::list(std::vector<std::optional<double>> levels) {
  CodeTable table;
  table.kind = Kind::kList;
  table.levels = std::move(levels);
  return table;
}

CodeTable CodeTable::rule(Kind kind, int64_t offset) {
  CodeTable table;
  table.kind = kind;
  table.offset = offset;
  return table;
}

std::vector<std::optional<double>> CodeTable::resolve(int bits) const {
  if (kind == Kind::kTensor || kind == Kind::kPlanes || bits < 0 || bits > 8) return {};
  const int count = bits == 0 ? 3 : 1 << bits;
  if (kind == Kind::kList) {
    Levels resolved = levels;
    resolved.resize(static_cast<size_t>(count));
    return resolved;
  }
  Levels resolved;
  for (int code = 0; code < count; ++code) {
    resolved.push_back(bits == 0 ? level_by_rule(*this, 2, code)
                                 : level_by_rule(*this, bits, code));
  }
  return resolved;
}

std::vector<std::optional<double>> levels_of(const PackingSpec& spec) {
  if (spec.symbol == Symbol::kFloatContainer) return spec.code_table.levels;
  if (spec.code_table.kind == CodeTable::Kind::kPlanes) return levels_of_planes(spec.planes);
  if (spec.code_table.kind != CodeTable::Kind::kNative) return spec.code_table.resolve(spec.bits);
  switch (spec.container) {
    case DType::kF8E4M3:
      return CodeTable::rule(CodeTable::Kind::kE4M3).resolve(spec.bits);
    case DType::kF8E5M2:
      return CodeTable::rule(CodeTable::Kind::kE5M2).resolve(spec.bits);
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return CodeTable::rule(CodeTable::Kind::kTwosComplement).resolve(spec.bits);
    default:
      return CodeTable::rule(CodeTable::Kind::kUnsigned).resolve(spec.bits);
  }
}

}  // namespace trilith::packing
