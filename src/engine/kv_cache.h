// KvCache: the keys (after RoPE) and values of one sequence, float32, contiguous: [layer, key or
// value, head, position, head_dim]. Filled by Engine::forward; movable, not thread-safe.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/aligned_buffer.h"
#include "model/model_spec.h"

namespace trilith::engine {

class KvCache {
 public:
  // Room for `capacity` tokens, at most the model's max_position_embeddings.
  static Result<KvCache> create(const model::ModelSpec& spec, int64_t capacity);

  int64_t length() const { return length_; }
  int64_t capacity() const { return capacity_; }
  uint64_t bytes() const { return data_.size(); }
  // Forgets all but the first `length` tokens.
  void truncate(int64_t length);
  bool fits(const model::ModelSpec& spec) const;

  // Row j of the keys (values) of a head at this + j · head_dim.
  float* keys(int64_t layer, int64_t head) { return plane(layer, 0, head); }
  float* values(int64_t layer, int64_t head) { return plane(layer, 1, head); }
  void advance(int64_t tokens) { length_ += tokens; }

 private:
  KvCache() = default;
  float* plane(int64_t layer, int64_t which, int64_t head) {
    return data_.as<float>() + ((layer * 2 + which) * heads_ + head) * capacity_ * head_dim_;
  }

  int64_t layers_ = 0;
  int64_t heads_ = 0;
  int64_t head_dim_ = 0;
  int64_t capacity_ = 0;
  int64_t length_ = 0;
  kernels::AlignedBuffer data_;
};

}  // namespace trilith::engine
