#include "checkpoint/ggml_types.h"

#include <array>

namespace trilith::checkpoint {
namespace {

constexpr std::string_view kGgml = "ggml";
constexpr std::string_view kOldGgml = "ggml, removed";
constexpr std::string_view kBitnet = "bitnet.cpp";
constexpr std::string_view kIk = "ik_llama.cpp";
constexpr std::string_view kPrism = "PrismML llama.cpp";
constexpr std::string_view kTencent = "Tencent llama.cpp";

constexpr GgmlType plain(uint32_t id, std::string_view name, DType dtype, uint32_t bytes) {
  return {.id = id, .name = name, .family = kGgml, .block_bytes = bytes, .plain = dtype};
}
constexpr GgmlType blocks(uint32_t id, std::string_view name, uint32_t block, uint32_t bytes,
                          std::string_view family = kGgml) {
  return {.id = id, .name = name, .family = family, .block = block, .block_bytes = bytes};
}
// ik_llama.cpp moved the scales of some types out of the blocks to the start of the row.
constexpr GgmlType rows(uint32_t id, std::string_view name, uint32_t block, uint32_t bytes,
                        uint32_t row_bytes) {
  return {.id = id,
          .name = name,
          .family = kIk,
          .block = block,
          .block_bytes = bytes,
          .row_bytes = row_bytes};
}
// Two bits a weight with a scale once a tensor.
constexpr GgmlType quarters(uint32_t id, std::string_view name) {
  return {
      .id = id, .name = name, .family = kBitnet, .block = 4, .block_bytes = 1, .tail_bytes = 32};
}

// TL2's size is a formula of its own: five bits for three weights in all but 256 columns.
constexpr std::string_view kTl2 = "TL2";

constexpr auto kTypes = std::to_array<GgmlType>({
    plain(0, "F32", DType::kF32, 4),
    plain(1, "F16", DType::kF16, 2),
    blocks(2, "Q4_0", 32, 18),
    blocks(3, "Q4_1", 32, 20),
    blocks(4, "Q4_2", 16, 10, kOldGgml),
    blocks(5, "Q4_3", 16, 12, kOldGgml),
    blocks(6, "Q5_0", 32, 22),
    blocks(7, "Q5_1", 32, 24),
    blocks(8, "Q8_0", 32, 34),
    blocks(9, "Q8_1", 32, 36),
    blocks(9, "Q8_1", 32, 40, kOldGgml),  // two float32 before the codes
    blocks(10, "Q2_K", 256, 84),
    blocks(11, "Q3_K", 256, 110),
    blocks(12, "Q4_K", 256, 144),
    blocks(13, "Q5_K", 256, 176),
    blocks(14, "Q6_K", 256, 210),
    blocks(15, "Q8_K", 256, 292),
    blocks(16, "IQ2_XXS", 256, 66),
    blocks(17, "IQ2_XS", 256, 74),
    blocks(18, "IQ3_XXS", 256, 98),
    blocks(19, "IQ1_S", 256, 50),
    blocks(20, "IQ4_NL", 32, 18),
    blocks(21, "IQ3_S", 256, 110),
    blocks(22, "IQ2_S", 256, 82),
    blocks(23, "IQ4_XS", 256, 136),
    plain(24, "I8", DType::kI8, 1),
    plain(25, "I16", DType::kI16, 2),
    plain(26, "I32", DType::kI32, 4),
    plain(27, "I64", DType::kI64, 8),
    plain(28, "F64", DType::kF64, 8),
    blocks(29, "IQ1_M", 256, 56),
    plain(30, "BF16", DType::kBF16, 2),
    quarters(30, "I2"),
    // Q4_0 and IQ4_NL with the blocks of four or eight rows interleaved.
    blocks(31, "Q4_0_4_4", 32, 18, kOldGgml),
    blocks(32, "Q4_0_4_8", 32, 18, kOldGgml),
    blocks(33, "Q4_0_8_8", 32, 18, kOldGgml),
    blocks(34, "TQ1_0", 256, 54),
    blocks(35, "TQ2_0", 256, 66),
    blocks(36, "IQ4_NL_4_4", 32, 18, kOldGgml),
    quarters(36, "I2_S"),
    blocks(37, "IQ4_NL_4_8", 32, 18, kOldGgml),
    blocks(37, "I8_S", 1, 1, kBitnet),
    blocks(38, "IQ4_NL_8_8", 32, 18, kOldGgml),
    quarters(38, "TL1"),
    blocks(39, "MXFP4", 32, 17),
    GgmlType{.id = 39, .name = kTl2, .family = kBitnet, .block_bytes = 0, .tail_bytes = 32},
    blocks(40, "NVFP4", 64, 36),
    blocks(40, "Q1_0_G32", 32, 6, kPrism),
    blocks(41, "Q1_0", 128, 18),
    blocks(41, "Q2_0C", 512, 130, kTencent),
    blocks(42, "Q2_0", 64, 18),
    blocks(42, "Q2_0_G128", 128, 34, kPrism),
    blocks(42, "STQ1_0", 256, 42, kTencent),
    blocks(133, "Q6_0", 32, 26, kIk),
    rows(134, "IQ1_BN", 64, 13, 2),
    rows(135, "IQ2_BN", 64, 16, 4),
    blocks(136, "Q8_K64", 64, 68, kIk),
    blocks(137, "IQ2_K", 256, 76, kIk),
    blocks(138, "IQ3_K", 256, 110, kIk),
    blocks(139, "IQ4_K", 256, 144, kIk),
    blocks(140, "IQ5_K", 256, 176, kIk),
    blocks(141, "IQ6_K", 256, 212, kIk),
    blocks(142, "PQ2_0", 128, 34, kPrism),
    blocks(142, "IQ2_TN", 256, 66, kIk),
    rows(142, "IQ2_TN", 256, 64, 4),
    blocks(143, "PTQ1_0", 128, 28, kPrism),
    blocks(143, "IQ1_TN", 256, 54, kIk),
    rows(143, "IQ1_TN", 256, 52, 2),
    rows(144, "IQ4_KS", 256, 136, 4),
    rows(145, "IQ2_KS", 256, 70, 2),
    rows(146, "IQ4_KSS", 256, 128, 4),
    rows(152, "IQ5_KS", 256, 168, 4),
    rows(153, "IQ2_KT", 256, 68, 4),
    rows(154, "IQ3_KT", 256, 100, 4),
    rows(155, "IQ4_KT", 256, 128, 4),
    rows(155, "IQ4_KT", 256, 132, 4),
    rows(156, "IQ3_KS", 256, 102, 2),
    rows(157, "IQ2_KL", 256, 86, 2),
    rows(158, "IQ1_KT", 256, 56, 4),
    // Four, eight or sixteen rows interleaved; sizes as without.
    blocks(202, "Q4_0_R8", 32, 18, kIk),
    blocks(206, "Q5_0_R4", 32, 22, kIk),
    blocks(208, "Q8_0_R8", 32, 34, kIk),
    blocks(210, "Q2_K_R4", 256, 84, kIk),
    blocks(211, "Q3_K_R4", 256, 110, kIk),
    blocks(212, "Q4_K_R4", 256, 144, kIk),
    blocks(213, "Q5_K_R4", 256, 176, kIk),
    blocks(214, "Q6_K_R4", 256, 210, kIk),
    blocks(216, "IQ2_XXS_R4", 256, 66, kIk),
    blocks(217, "IQ2_XS_R4", 256, 74, kIk),
    blocks(218, "IQ3_XXS_R4", 256, 98, kIk),
    rows(219, "IQ1_S_R4", 32, 6, 2),
    blocks(220, "IQ4_NL_R4", 32, 18, kIk),
    blocks(221, "IQ3_S_R4", 256, 110, kIk),
    blocks(222, "IQ2_S_R4", 256, 82, kIk),
    blocks(223, "IQ4_XS_R8", 256, 136, kIk),
    rows(229, "IQ1_M_R4", 32, 7, 2),
    blocks(230, "BF16_R16", 1, 2, kIk),
    blocks(233, "Q6_0_R4", 32, 26, kIk),
    rows(335, "IQ2_BN_R4", 64, 16, 4),
    blocks(337, "IQ2_K_R4", 256, 76, kIk),
    blocks(338, "IQ3_K_R4", 256, 110, kIk),
    blocks(339, "IQ4_K_R4", 256, 144, kIk),
    blocks(340, "IQ5_K_R4", 256, 176, kIk),
    rows(344, "IQ4_KS_R4", 256, 136, 4),
    rows(352, "IQ5_KS_R4", 256, 168, 4),
});

// As microsoft/BitNet's ggml_nbytes computes it, whatever the real remainder of K is.
std::optional<uint64_t> tl2_bytes(uint64_t n, uint64_t k) {
  if (k < 256) return std::nullopt;
  const uint64_t codes = (k - 256) * n / 3 * 5 / 8 + 256 * n / 2 * 4 / 8;
  return (codes + 31) / 32 * 32 + 32;
}

}  // namespace

std::span<const GgmlType> ggml_types() { return kTypes; }

std::optional<uint64_t> ggml_row_bytes(const GgmlType& type, uint64_t k) {
  if (!type.has_rows() || k % type.block != 0) return std::nullopt;
  if (k / type.block > (uint64_t{1} << 48)) return std::nullopt;
  return type.row_bytes + k / type.block * type.block_bytes;
}

std::optional<uint64_t> ggml_bytes(const GgmlType& type, std::span<const int64_t> shape) {
  const auto elements = element_count(shape);
  if (!elements.ok() || *elements > uint64_t{1} << 56) return std::nullopt;
  if (*elements == 0) return 0;
  const auto k = static_cast<uint64_t>(shape.empty() ? 1 : shape.back());
  const uint64_t n = *elements / k;
  if (type.name == kTl2) return tl2_bytes(n, k);
  if (k % type.block != 0) return std::nullopt;
  return n * (type.row_bytes + k / type.block * type.block_bytes) + type.tail_bytes;
}

}  // namespace trilith::checkpoint
