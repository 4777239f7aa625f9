// Bounds on what a tokenizer.json may ask for, far above what published tokenizers use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trilith::text {

constexpr size_t kMaxTextBytes = size_t{64} << 20;       // of one encode()
constexpr size_t kMaxPreparedBytes = size_t{512} << 20;  // after normalisation and prefixes
constexpr size_t kMaxInsertedBytes = 256;                // by one Prepend or Replace
constexpr size_t kMaxSteps = 32;                         // of normalizer or pre-tokenizer
constexpr int kMaxSequenceDepth = 8;
constexpr int64_t kMaxTokens = int64_t{1} << 24;
// Ids without a token are allowed up to as many as there are tokens, and this many.
constexpr int64_t kMaxHoles = 65536;

}  // namespace trilith::text
