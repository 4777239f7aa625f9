// Orders that a kernel's loops dictate.
#include "packing/catalogue_rows.h"

namespace trilith::packing {
namespace {

PackingSpec tiles(TileMap tile, std::vector<std::optional<double>> levels, DType scale) {
  PackingSpec spec;
  spec.law.unit = UnitScope::kTile;
  spec.law.tile = tile;
  spec.code_table = CodeTable::list(std::move(levels));
  spec.scale.dtype = scale;
  return spec;
}

PackingSpec bitnet_gpu() {
  PackingSpec spec =
      tiles({TileMap::Kind::kBitnetGpu, 0, 0, 0}, {std::nullopt, -1.0, 0.0, 1.0}, DType::kBF16);
  spec.container = DType::kI8;
  spec.scale.stored_multiple = 4;
  spec.activation = Activation::kInt8Token;
  return spec;
}

PackingSpec tl1() {
  PackingSpec spec = tiles({TileMap::Kind::kTl1, 256, 128, 8}, {-1.0, 0.0, 1.0}, DType::kF32);
  spec.symbol = Symbol::kPair;
  spec.bits = 0;
  spec.activation = Activation::kInt8Token;
  return spec;
}

}  // namespace

void add_kernel_rows(std::vector<CatalogueRow>& rows) {
  rows.insert(
      rows.end(),
      {
          {"bitnet-gpu", "BitNet GPU kernel, tiles of 16 × 32",
           "microsoft/BitNet, gpu/pack_weight.py", bitnet_gpu()},
          {"tl1", "BitNet TL1 (BM 256, BK 128, bm 32; other sizes by --assume)",
           "microsoft/BitNet, utils/convert-hf-to-gguf-bitnet.py", tl1()},
          {"t-mac", "T-MAC bit planes (bm 64, kfactor 8; other sizes by --assume)",
           "microsoft/T-MAC, python/t_mac/weights.py",
           tiles({TileMap::Kind::kTmac, 64, 8, 0}, {std::nullopt, -1.0, 0.0, 1.0}, DType::kF32)},
      });
}

}  // namespace trilith::packing
