#include "packing/tiles.h"

#include <fmt/format.h>

#include "packing/layout.h"

namespace trilith::packing {
namespace {

// T-MAC's layout of one vector register: 8 outputs of each bit, 16 lanes, 2 nibbles a byte.
constexpr int64_t kOutputs = 8;
constexpr int64_t kLanes = 16;
constexpr int64_t kColumns = 4;

struct BitPlace {
  int64_t byte;
  int bit;
};

BitPlace bitnet_gpu_place(int64_t n, int64_t k, int64_t cols) {
  const int64_t tile = n / 16 * (cols / 32) + k / 32;
  const int64_t row = n % 16;
  const int64_t word = 16 * (row / 8) + 8 * (k % 32 / 16) + row % 8;
  const int64_t element = k % 16;
  return {(tile * 32 + word) * 4 + element % 4, static_cast<int>(2 * (element / 4))};
}

// Of bit `b` of a code.
BitPlace tmac_place(const PackingSpec& spec, int64_t n, int64_t k, int b, int64_t cols) {
  const TileMap& tile = spec.law.tile;
  const int64_t register_rows = 2 * kLanes;
  const int64_t row = (n / kOutputs * spec.bits + b) * kOutputs + n % kOutputs;
  const int64_t in_tile = row % tile.bm;
  const int64_t group = k / kColumns;
  const int64_t steps = cols / kColumns / tile.bk;
  const int64_t panel = row / tile.bm * steps + group / tile.bk;
  const int64_t block = panel * (tile.bm / register_rows) + in_tile / register_rows;
  const int64_t byte = (block * tile.bk + group % tile.bk) * kLanes + in_tile % kLanes;
  const int64_t nibble = in_tile % register_rows / kLanes;
  return {byte, static_cast<int>(4 * nibble + k % kColumns)};
}

// Of the byte that holds columns k … k + 3, k a multiple of 4.
int64_t tl1_byte(const TileMap& tile, int64_t n, int64_t k, int64_t cols) {
  const int64_t inner_rows = 256 / tile.by;
  int64_t index = n / tile.bm;
  index = index * (cols / tile.bk) + k / tile.bk;
  index = index * (tile.bm / inner_rows) + n % tile.bm / inner_rows;
  index = index * (tile.bk / tile.by) + k % tile.bk / tile.by;
  index = index * (inner_rows / 16) + n % inner_rows / 16;
  index = index * (tile.by / 4) + k % tile.by / 4;
  return index * 16 + n % 16;
}

// Calls visit(bit of the code, place) for a code of whole bits.
template <typename Visit>
void each_bit(const PackingSpec& spec, int64_t n, int64_t k, int64_t cols, const Visit& visit) {
  for (int b = 0; b < spec.bits; ++b) {
    if (spec.law.tile.kind == TileMap::Kind::kTmac) {
      visit(b, tmac_place(spec, n, k, b, cols));
    } else {
      BitPlace place = bitnet_gpu_place(n, k, cols);
      place.bit += b;
      visit(b, place);
    }
  }
}

int64_t head_bytes(const PackingSpec& spec) { return field_span(spec.law.tensor_fields).before; }

}  // namespace

Status check_tiles(const PackingSpec& spec, int64_t rows, int64_t cols) {
  const TileMap& tile = spec.law.tile;
  bool sizes = true;
  int64_t row_step = 16;
  int64_t column_step = 32;
  if (tile.kind == TileMap::Kind::kTl1) {
    const int64_t inner_rows = tile.by > 0 ? 256 / tile.by : 0;
    sizes = tile.by >= 4 && tile.by <= 16 && 256 % tile.by == 0 && tile.bm >= inner_rows &&
            tile.bm % inner_rows == 0 && tile.bk >= tile.by && tile.bk % tile.by == 0;
    row_step = tile.bm;
    column_step = tile.bk;
  } else if (tile.kind == TileMap::Kind::kTmac) {
    sizes = spec.bits >= 1 && tile.bm >= 32 && tile.bm % 32 == 0 && tile.bk >= 1;
    row_step = kOutputs;
    column_step = kColumns * tile.bk;
    sizes = sizes && rows * spec.bits % tile.bm == 0;
  }
  if (!sizes) {
    return Error::usage("the sizes of the tiles do not go with each other")
        .with_found(fmt::format("bm {}, bk {}, by {}, {} rows", tile.bm, tile.bk, tile.by, rows));
  }
  if (rows % row_step != 0 || cols % column_step != 0) {
    return Error::damaged("the tiles do not divide the matrix")
        .with_expected(fmt::format("multiples of [{}, {}]", row_step, column_step))
        .with_found(fmt::format("[{}, {}]", rows, cols));
  }
  return {};
}

Status read_tiles(const PackingSpec& spec, const TensorView& codes, QuantMatrix& matrix) {
  const std::byte* const bytes = codes.bytes.data() + head_bytes(spec);
  const int64_t cols = matrix.cols;
  matrix.codes.assign(static_cast<size_t>(matrix.rows * cols), 0);
  for (int64_t n = 0; n < matrix.rows; ++n) {
    uint8_t* const row = matrix.codes.data() + n * cols;
    if (spec.law.tile.kind != TileMap::Kind::kTl1) {
      for (int64_t k = 0; k < cols; ++k) {
        each_bit(spec, n, k, cols, [&](int b, const BitPlace& place) {
          const auto bit = static_cast<unsigned>(bytes[place.byte]) >> place.bit & 1U;
          row[k] = static_cast<uint8_t>(row[k] | (bit << b));
        });
      }
      continue;
    }
    for (int64_t k = 0; k < cols; k += 4) {
      const auto byte = static_cast<unsigned>(bytes[tl1_byte(spec.law.tile, n, k, cols)]);
      for (int pair = 0; pair < 2; ++pair) {
        const unsigned symbol = pair == 0 ? byte >> 4 : byte & 15U;
        if (symbol > 8) {
          return Error::damaged("a nibble is no pair of trits")
              .with_tensor(codes.name)
              .with_expected("0 to 8")
              .with_found(fmt::format("{} at row {}, column {}", symbol, n, k + 2 * pair));
        }
        row[k + 2 * pair] = static_cast<uint8_t>(symbol / 3);
        row[k + 2 * pair + 1] = static_cast<uint8_t>(symbol % 3);
      }
    }
  }
  return {};
}

void write_tiles(const PackingSpec& spec, const QuantMatrix& matrix, std::span<std::byte> bytes) {
  std::byte* const target = bytes.data() + head_bytes(spec);
  const int64_t cols = matrix.cols;
  for (int64_t n = 0; n < matrix.rows; ++n) {
    const uint8_t* const row = matrix.codes.data() + n * cols;
    if (spec.law.tile.kind != TileMap::Kind::kTl1) {
      for (int64_t k = 0; k < cols; ++k) {
        each_bit(spec, n, k, cols, [&](int b, const BitPlace& place) {
          target[place.byte] |= static_cast<std::byte>((row[k] >> b & 1) << place.bit);
        });
      }
      continue;
    }
    for (int64_t k = 0; k < cols; k += 4) {
      const int high = 3 * row[k] + row[k + 1];
      const int low = 3 * row[k + 2] + row[k + 3];
      target[tl1_byte(spec.law.tile, n, k, cols)] = static_cast<std::byte>(high << 4 | low);
    }
  }
}

}  // namespace trilith::packing
