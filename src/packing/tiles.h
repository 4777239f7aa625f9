// Codes in the tile orders of kernels, which no strided law describes:
//     bitnet-gpu  2-bit, 16 rows × 32 columns in 32 u32 words. Word t: row 8·(t div 16) + t mod 8,
//                 columns 16·((t mod 16) div 8) …; element o of a word in byte o mod 4, bits
//                 2·(o div 4).             Source: microsoft/BitNet, gpu/pack_weight.py
//     tl1         pairs of trits, 3·a + b in a nibble, four weights a byte, the first pair high;
//                 loops over BM, BK, bm.   Source: microsoft/BitNet, utils/convert-hf-to-gguf
//     t-mac       one bit of four columns in a nibble; bm, kfactor, 8 rows × bits × 16 lanes.
//                 Source: microsoft/T-MAC, python/t_mac/weights.py
// The sizes of tl1 and t-mac are the kernel's and not in the file. No state.
#pragma once

#include "packing/codec.h"

namespace trilith::packing {

// Whether the tiles' sizes go with each other and divide the matrix.
Status check_tiles(const PackingSpec& spec, int64_t rows, int64_t cols);

// Into matrix.codes; rows and cols are set, the tensor's size is checked.
Status read_tiles(const PackingSpec& spec, const TensorView& codes, QuantMatrix& matrix);
void write_tiles(const PackingSpec& spec, const QuantMatrix& matrix, std::span<std::byte> bytes);

}  // namespace trilith::packing
