#include "inspect/worked_example.h"

#include <fmt/format.h>

#include <algorithm>

namespace trilith::inspect {
namespace {

using packing::Axis;
using packing::Digits;
using packing::Law;
using packing::Orientation;
using packing::PackingSpec;
using packing::SlotOrder;
using packing::Stride;
using packing::Symbol;

constexpr size_t kExampleBytes = 8;

int bits_of(const PackingSpec& spec) { return spec.symbol == Symbol::kBitPlanes ? 1 : spec.bits; }

// Element of a line that word `word` holds in `slot`.
int64_t element_of(const Law& law, int64_t extent, int64_t word, int64_t slot) {
  const int64_t stride = law.stride.kind == Stride::Kind::kExtentOverSlots
                             ? (extent + law.slots - 1) / law.slots
                             : law.stride.value;
  return word / stride * stride * law.slots + slot * stride + word % stride;
}

// The code in a slot of a one-byte word.
int code_of(const PackingSpec& spec, int byte, int slot) {
  const int slots = spec.law.slots;
  if (spec.symbol == Symbol::kBase3) {
    int number = spec.digits.map == Digits::Map::kPlain ? byte : byte * 243 / 256;
    const int skip = spec.digits.order == Digits::Order::kLsbFirst ? slot : slots - 1 - slot;
    for (int i = 0; i < skip; ++i) number /= 3;
    return number % 3;
  }
  const int bits = bits_of(spec);
  const int field = spec.law.slot_order == SlotOrder::kHighFirst ? slots - 1 - slot : slot;
  return (byte >> (field * bits)) & ((1 << bits) - 1);
}

std::string level_text(const PackingSpec& spec, int code) {
  const auto levels = packing::levels_of(spec);
  if (static_cast<size_t>(code) >= levels.size() || !levels[static_cast<size_t>(code)]) return "-";
  return fmt::format("{:g}", *levels[static_cast<size_t>(code)]);
}

bool can_be_worked(const PackingSpec& spec) {
  return spec.law.word_bits == 8 && spec.law.fields.empty() && spec.law.line_fields.empty() &&
         spec.law.tensor_fields.empty() && spec.law.sections.empty();
}

void append(std::string& text, const std::string& word) {
  if (!text.empty()) text += ' ';
  text += word;
}

struct Lines {
  std::string elements;
  std::string codes;
  std::string levels;
};

// What byte `index` of the tensor holds.
Lines read_byte(const PackingSpec& spec, int64_t rows, int64_t cols, int64_t index, int byte) {
  const bool along_k = spec.law.axis == Axis::kK;
  // Bytes run along the inner axis of the stored matrix: through one line when that is the packed
  // axis, else through the first words of neighbouring lines.
  const bool inner = along_k == (spec.orient == Orientation::kNK);
  const int64_t extent = along_k ? cols : rows;
  Lines lines;
  for (int slot = 0; slot < spec.law.slots; ++slot) {
    const int64_t element = element_of(spec.law, extent, inner ? index : 0, slot);
    if (element >= extent) continue;
    const int64_t line = inner ? 0 : index;
    append(lines.elements,
           fmt::format("W[{},{}]", along_k ? line : element, along_k ? element : line));
    const int code = code_of(spec, byte, slot);
    append(lines.codes, std::to_string(code));
    append(lines.levels, spec.symbol == Symbol::kBitPlanes ? "" : level_text(spec, code));
  }
  return lines;
}

}  // namespace

WorkedExample work_example(const TensorView& codes, int64_t rows, int64_t cols,
                           const PackingSpec& spec, const PackingSpec* rival) {
  WorkedExample example;
  const size_t count = std::min(kExampleBytes, codes.bytes.size());
  const bool with_rival = rival != nullptr && can_be_worked(*rival);
  for (size_t i = 0; i < count; ++i) {
    const int byte = std::to_integer<int>(codes.bytes[i]);
    example.bytes.push_back(static_cast<uint8_t>(byte));
    if (!can_be_worked(spec)) continue;
    std::string fields;
    const int bits = bits_of(spec);
    for (int shift = 0; bits > 0 && shift < 8; shift += bits) {
      std::string field;
      for (int bit = bits - 1; bit >= 0; --bit)
        field += ((byte >> (shift + bit)) & 1) != 0 ? '1' : '0';
      append(fields, field);
    }
    example.fields.push_back(fields);
    const Lines lines = read_byte(spec, rows, cols, static_cast<int64_t>(i), byte);
    example.elements.push_back(lines.elements);
    example.codes.push_back(lines.codes);
    example.levels.push_back(lines.levels);
    if (!with_rival) continue;
    const Lines other = read_byte(*rival, rows, cols, static_cast<int64_t>(i), byte);
    example.runner_up_elements.push_back(other.elements);
    example.runner_up_levels.push_back(other.levels);
  }
  return example;
}

}  // namespace trilith::inspect
