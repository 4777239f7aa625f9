// The words of the JSON vocabulary (docs/FORMATS.md) for every enumeration of a spec.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packing/spec.h"

namespace trilith::packing {

template <typename E>
struct Word {
  E value;
  std::string_view name;
};
template <typename E>  // clang 14 deduces no aggregates by itself
Word(E, std::string_view)->Word<E>;

inline constexpr std::array kSymbolWords = {
    Word{Symbol::kInt, "int"},       Word{Symbol::kTable, "table"},
    Word{Symbol::kBase3, "base3"},   Word{Symbol::kPair, "pair"},
    Word{Symbol::kTriple, "triple"}, Word{Symbol::kBitPlanes, "bit-planes"},
    Word{Symbol::kFloat, "float"},   Word{Symbol::kFloatContainer, "float container"}};
inline constexpr std::array kOrientationWords = {Word{Orientation::kNK, "NK"},
                                                 Word{Orientation::kKN, "KN"}};
inline constexpr std::array kAxisWords = {Word{Axis::kK, "K"}, Word{Axis::kN, "N"},
                                          Word{Axis::kFlat, "flat"}};
inline constexpr std::array kSlotOrderWords = {Word{SlotOrder::kLowFirst, "low_first"},
                                               Word{SlotOrder::kHighFirst, "high_first"}};
inline constexpr std::array kByteOrderWords = {Word{ByteOrder::kLittle, "little"},
                                               Word{ByteOrder::kBig, "big"}};
inline constexpr std::array kBitstreamWords = {Word{Bitstream::kLsbFirst, "lsb_first"},
                                               Word{Bitstream::kMsbFirst, "msb_first"}};
inline constexpr std::array kFieldWords = {
    Word{FieldKind::kCodes, "codes"},    Word{FieldKind::kScale, "scale"},
    Word{FieldKind::kMin, "min"},        Word{FieldKind::kSubScales, "sub-scales"},
    Word{FieldKind::kSigns, "signs"},    Word{FieldKind::kHighBits, "high bits"},
    Word{FieldKind::kPadding, "padding"}};
inline constexpr std::array kTileWords = {
    Word{TileMap::Kind::kBitnetGpu, "bitnet-gpu"}, Word{TileMap::Kind::kTl1, "tl1"},
    Word{TileMap::Kind::kTl2, "tl2"}, Word{TileMap::Kind::kTmac, "t-mac"}};
inline constexpr std::array kPlaneWords = {
    Word{PlaneRole::kPositive, "+"}, Word{PlaneRole::kNegative, "-"},
    Word{PlaneRole::kSign, "sign (1 = -)"}, Word{PlaneRole::kNonzero, "nonzero"},
    Word{PlaneRole::kBit, "bit"}};
inline constexpr std::array kPadWords = {
    Word{Pad::Scope::kNone, "none"}, Word{Pad::Scope::kLine, "line"},
    Word{Pad::Scope::kGroup, "group"}, Word{Pad::Scope::kTensor, "tensor"}};
inline constexpr std::array kScaleIndexWords = {
    Word{Scale::Index::kNone, "none"},
    Word{Scale::Index::kTensor, "tensor"},
    Word{Scale::Index::kRow, "row"},
    Word{Scale::Index::kColumn, "column"},
    Word{Scale::Index::kRowGroup, "row x group"},
    Word{Scale::Index::kBlock, "block"},
    Word{Scale::Index::kFlatBlock, "flat block"},
    Word{Scale::Index::kModulo, "element index mod (N*K/g)"},
    Word{Scale::Index::kSegment, "segment"},
    Word{Scale::Index::kRankOne, "rank-one"},
    Word{Scale::Index::kSubBlock, "sub-block"}};
inline constexpr std::array kScaleOpWords = {Word{Scale::Op::kMultiply, "mul"},
                                             Word{Scale::Op::kDivide, "div"},
                                             Word{Scale::Op::kMultiplyPowerOfTwo, "mul by 2^x"}};
inline constexpr std::array kScaleLayoutWords = {Word{Scale::Layout::kRowMajor, "[N, K/g]"},
                                                 Word{Scale::Layout::kTransposed, "[K/g, N]"}};
inline constexpr std::array kScalePlaceWords = {
    Word{Scale::Place::kTensor, "tensor"}, Word{Scale::Place::kBlock, "block"},
    Word{Scale::Place::kLine, "line"}, Word{Scale::Place::kTail, "tail"},
    Word{Scale::Place::kImplicit, "implicit"}};
inline constexpr std::array kGlobalScaleWords = {Word{Scale::Global::kMultiply, "mul"},
                                                 Word{Scale::Global::kDivide, "div"}};
inline constexpr std::array kSubLayoutWords = {
    Word{Scale::SubLayout::kQ2K, "q2_k"}, Word{Scale::SubLayout::kQ3K, "q3_k"},
    Word{Scale::SubLayout::kQ4K, "q4_k"}, Word{Scale::SubLayout::kQ6K, "q6_k"},
    Word{Scale::SubLayout::kIq4Xs, "iq4_xs"}};
inline constexpr std::array kFloatZeroWords = {
    Word{Zero::Kind::kFloat, "float, w=(q-z)*s"},
    Word{Zero::Kind::kFloatBias, "float bias, w = q*s + b"},
    Word{Zero::Kind::kFloatShift, "float shift, w = s*q - shift"}};
inline constexpr std::array kRowMapWords = {
    Word{RowMap::Kind::kRopePermute, "rope permute"},
    Word{RowMap::Kind::kRopePermuteInverse, "rope permute inverse"}};
inline constexpr std::array kPreWords = {Word{Pre::Kind::kRmsNorm, "rms norm"},
                                         Word{Pre::Kind::kColumnFactor, "column factor"},
                                         Word{Pre::Kind::kHadamard, "hadamard"}};
inline constexpr std::array kPostWords = {
    Word{Post::kNone, "none"}, Word{Post::kLayerNorm, "layer norm"},
    Word{Post::kInt8FakeQuant, "int8 fake quant"}, Word{Post::kResidualAdd, "residual add"}};
inline constexpr std::array kActivationWords = {
    Word{Activation::kNone, "none"}, Word{Activation::kInt8Token, "dynamic-token"},
    Word{Activation::kInt8Static, "static"}, Word{Activation::kOutlierSplit, "outlier split"},
    Word{Activation::kUndecidable, "undecidable"}};
// Rules without a parameter.
inline constexpr std::array kTableWords = {
    Word{CodeTable::Kind::kUnsigned, "unsigned"},
    Word{CodeTable::Kind::kTwosComplement, "two's complement"},
    Word{CodeTable::Kind::kE2M1, "e2m1"},
    Word{CodeTable::Kind::kE4M3, "e4m3fn"},
    Word{CodeTable::Kind::kE5M2, "e5m2"},
    Word{CodeTable::Kind::kNative, "native"},
    Word{CodeTable::Kind::kPlanes, "planes"}};

template <typename Words, typename E>
std::string_view word_of(const Words& words, E value) {
  for (const auto& word : words) {
    if (word.value == value) return word.name;
  }
  return "?";
}

template <typename E, size_t kCount>
std::optional<E> value_of(const std::array<Word<E>, kCount>& words, std::string_view name) {
  for (const auto& word : words) {
    if (word.name == name) return word.value;
  }
  return std::nullopt;
}

// The two rules whose wording depends on the bits.
std::string sign_magnitude_word(int bits);
std::string table_tensor_word(int bits);

// The stride in words. A fixed stride along the slow axis of a tensor unit is told in terms of the
// flattened matrix, "N" or "2*K"; equal parts of it as "N*K/4".
std::string stride_word(const PackingSpec& spec);
// Whether stride_word or a plain number spells the stride of such a law.
bool has_worded_stride(const PackingSpec& spec);

}  // namespace trilith::packing
