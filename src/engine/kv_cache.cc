#include "engine/kv_cache.h"

#include <limits>

namespace trilith::engine {

Result<KvCache> KvCache::create(const model::ModelSpec& spec, int64_t capacity) {
  if (capacity < 1 || capacity > spec.max_position_embeddings) {
    return Error::usage("the context does not fit the model")
        .with_expected("1 to " + std::to_string(spec.max_position_embeddings) + " tokens")
        .with_found(std::to_string(capacity));
  }
  uint64_t floats = 2;
  for (const int64_t factor :
       {spec.num_hidden_layers, spec.num_key_value_heads, spec.head_dim, capacity}) {
    if (__builtin_mul_overflow(floats, static_cast<uint64_t>(factor), &floats)) floats = 0;
  }
  constexpr uint64_t kLargest = uint64_t{1} << 40;  // bytes; an address space, not a machine
  if (floats == 0 || floats > kLargest / sizeof(float)) {
    return Error::usage("a key/value cache of " + std::to_string(capacity) +
                        " tokens is too large for this model");
  }
  KvCache cache;
  cache.layers_ = spec.num_hidden_layers;
  cache.heads_ = spec.num_key_value_heads;
  cache.head_dim_ = spec.head_dim;
  cache.capacity_ = capacity;
  cache.data_ = kernels::AlignedBuffer(static_cast<size_t>(floats * sizeof(float)));
  return cache;
}

void KvCache::truncate(int64_t length) {
  TRILITH_CHECK(length >= 0 && length <= length_);
  length_ = length;
}

bool KvCache::fits(const model::ModelSpec& spec) const {
  return layers_ == spec.num_hidden_layers && heads_ == spec.num_key_value_heads &&
         head_dim_ == spec.head_dim;
}

}  // namespace trilith::engine
