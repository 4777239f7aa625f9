// Small random models for the engine's tests, and their forward pass in double with plain loops:
// the same mathematics from the same Weights, sharing no code with the engine or its kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/mode.h"
#include "model/weights.h"

namespace trilith::engine {

enum class Linears { kTernaryRow, kTernaryTensor, kTernaryGroups, kInt8, kDense };

struct TinyModel {
  bool bitnet = false;  // sub-norms and ReLU²
  bool tied = false;
  bool bias = false;
  Linears linears = Linears::kTernaryRow;
  DType dense_dtype = DType::kF16;  // of embedding, head and norms
  int64_t hidden = 40;
  int64_t intermediate = 72;
  int64_t layers = 2;
  int64_t heads = 4;
  int64_t kv_heads = 2;
  int64_t head_dim = 10;
  int64_t vocab = 50;
  int64_t context = 400;
  uint64_t seed = 1;
};

std::string describe(const TinyModel& tiny);
model::Weights make_weights(const TinyModel& tiny);
std::vector<int32_t> make_ids(const TinyModel& tiny, int64_t count, uint64_t seed);

// Logits [ids, vocab].
std::vector<double> plain_forward(const model::Weights& weights, Mode mode,
                                  const std::vector<int32_t>& ids);

}  // namespace trilith::engine
