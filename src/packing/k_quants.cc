#include "packing/k_quants.h"

#include <array>

#include "base/half.h"

namespace trilith::packing {
namespace {

using SubLayout = Scale::SubLayout;

struct Integers {
  std::array<int, 16> scales{};
  std::array<int, 16> minima{};
};

int byte_at(const std::byte* bytes, int index) { return static_cast<int>(bytes[index]); }

Integers unpack(SubLayout layout, const std::byte* bytes) {
  Integers result;
  switch (layout) {
    case SubLayout::kNone:
      break;
    case SubLayout::kQ2K:
      for (int j = 0; j < 16; ++j) {
        result.scales[static_cast<size_t>(j)] = byte_at(bytes, j) & 15;
        result.minima[static_cast<size_t>(j)] = byte_at(bytes, j) >> 4;
      }
      break;
    case SubLayout::kQ3K:
      for (int j = 0; j < 16; ++j) {
        const int low = j < 8 ? byte_at(bytes, j) & 15 : byte_at(bytes, j - 8) >> 4;
        const int high = byte_at(bytes, 8 + j % 4) >> (2 * (j / 4)) & 3;
        result.scales[static_cast<size_t>(j)] = (low | high << 4) - 32;
      }
      break;
    case SubLayout::kQ4K:
      for (int j = 0; j < 4; ++j) {
        const auto i = static_cast<size_t>(j);
        result.scales[i] = byte_at(bytes, j) & 63;
        result.minima[i] = byte_at(bytes, j + 4) & 63;
        result.scales[i + 4] = (byte_at(bytes, j + 8) & 15) | (byte_at(bytes, j) >> 6) << 4;
        result.minima[i + 4] = byte_at(bytes, j + 8) >> 4 | (byte_at(bytes, j + 4) >> 6) << 4;
      }
      break;
    case SubLayout::kQ6K:
      for (int j = 0; j < 16; ++j) {
        result.scales[static_cast<size_t>(j)] = static_cast<int8_t>(bytes[j]);
      }
      break;
    case SubLayout::kIq4Xs: {
      const int high = byte_at(bytes, 0) | byte_at(bytes, 1) << 8;
      for (int j = 0; j < 8; ++j) {
        const int low = byte_at(bytes, 2 + j / 2) >> (4 * (j % 2)) & 15;
        result.scales[static_cast<size_t>(j)] = (low | (high >> (2 * j) & 3) << 4) - 32;
      }
      break;
    }
  }
  return result;
}

}  // namespace

SubLayoutShape shape_of(SubLayout layout) {
  switch (layout) {
    case SubLayout::kNone:
      break;
    case SubLayout::kQ2K:
      return {16, 16, true};
    case SubLayout::kQ3K:
      return {12, 16, false};
    case SubLayout::kQ4K:
      return {12, 8, true};
    case SubLayout::kQ6K:
      return {16, 16, false};
    case SubLayout::kIq4Xs:
      return {6, 8, false};
  }
  return {};
}

Result<SubScales> read_sub_scales(const PackingSpec& spec, const Layout& layout,
                                  const TensorView& codes) {
  const SubLayoutShape shape = shape_of(spec.scale.sub_layout);
  const auto inside = [&](FieldKind kind) {
    return field_offset(spec.law.fields, kind, layout.code_bytes, layout.high_bytes);
  };
  const int64_t scale_at = inside(FieldKind::kScale);
  const int64_t minimum_at = inside(FieldKind::kMin);
  const int64_t integers_at = inside(FieldKind::kSubScales);
  const auto half_at = [&](int64_t offset) {
    return f32_from_f16(load<uint16_t>(codes.bytes.data() + offset, 0));
  };
  SubScales result;
  for (int64_t line = 0; line < layout.lines; ++line) {
    for (int64_t unit = 0; unit < layout.law.units(); ++unit) {
      const int64_t start = layout.unit_offset(line, unit);
      const Integers integers =
          unpack(spec.scale.sub_layout, codes.bytes.data() + start + integers_at);
      const float scale = half_at(start + scale_at);
      const float minimum = shape.has_minima ? half_at(start + minimum_at) : 0.0F;
      for (size_t j = 0; j < static_cast<size_t>(shape.count); ++j) {
        result.scales.push_back(scale * static_cast<float>(integers.scales[j]));
        if (shape.has_minima) {
          result.minima.push_back(minimum * static_cast<float>(integers.minima[j]));
        }
      }
    }
  }
  return result;
}

}  // namespace trilith::packing
