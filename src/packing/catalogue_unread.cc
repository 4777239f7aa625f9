// Formats that are known by name and not read, and what reading them would take.
#include <algorithm>
#include <array>

#include "packing/catalogue.h"

namespace trilith::packing {
namespace {

constexpr std::string_view kGrid = "vectors of weights from a grid: its table, and a vector symbol";
constexpr std::string_view kKernel = "the order of a GPU kernel, which depends on its version";

constexpr std::array kUnread = {
    UnreadFormat{"iq1_s", "GGUF IQ1_S", kGrid},
    UnreadFormat{"iq1_m", "GGUF IQ1_M", kGrid},
    UnreadFormat{"iq2_xxs", "GGUF IQ2_XXS", kGrid},
    UnreadFormat{"iq2_xs", "GGUF IQ2_XS", kGrid},
    UnreadFormat{"iq2_s", "GGUF IQ2_S", kGrid},
    UnreadFormat{"iq3_xxs", "GGUF IQ3_XXS", kGrid},
    UnreadFormat{"iq3_s", "GGUF IQ3_S", kGrid},
    UnreadFormat{"q8_k", "GGUF Q8_K", "nothing: it holds activations and no weights"},
    UnreadFormat{"stq1_0", "STQ1_0 (Sherry)", "its codebook of 32 four-weight patterns"},
    UnreadFormat{"iq2_bn_r4", "GGUF IQ2_BN_R4", "the interleaving of four rows of ik_llama.cpp"},
    UnreadFormat{"tl2", "BitNet TL2",
                 "the sizes of the kernel (kernel_config.ini), and triples with separate signs"},
    UnreadFormat{"awq-gemv-fast", "AWQ GEMV_FAST",
                 "its tiles of 4 rows by 64 columns with reordered columns"},
    UnreadFormat{"marlin", "Marlin", kKernel},
    UnreadFormat{"bitblas", "BitBLAS", "the configuration of the operator that transformed it"},
    UnreadFormat{"torchao-tile-packed", "torchao tile_packed_to_4d", kKernel},
    UnreadFormat{"exl3", "EXL3", "a trellis code and its rotations"},
    UnreadFormat{"qtip", "QTIP", "a trellis code and its rotations"},
    UnreadFormat{"aqlm", "AQLM", "sums of vectors from codebooks in the file"},
    UnreadFormat{"vptq", "VPTQ", "vectors from codebooks in the file, and permutations"},
    UnreadFormat{"qtea", "QTEA", "a column factor, an offset a group and sparse float8 columns"},
    UnreadFormat{"tritplane", "ternary-quant TritPlane3",
                 "the layout of its planes, which is not published"},
    UnreadFormat{"eetq", "EETQ", "the order of its int8 kernel"},
};

}  // namespace

std::span<const UnreadFormat> unread_formats() { return kUnread; }

const UnreadFormat* find_unread_format(std::string_view name) {
  const auto found = std::find_if(kUnread.begin(), kUnread.end(),
                                  [&](const UnreadFormat& format) { return format.name == name; });
  return found == kUnread.end() ? nullptr : &*found;
}

}  // namespace trilith::packing
