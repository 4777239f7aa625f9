// The operations of a decoder other than its linears, in double, one function each. Formulas follow
// the transformers implementations of Llama and BitNet; libm is used where they need it.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "model/model_spec.h"
#include "model/weights.h"
#include "reference/matrix.h"

namespace trilith::reference {

// Row t is the embedding of ids[t]; every id is below embedding.rows.
Matrix embed(const model::DenseMatrix& embedding, std::span<const int32_t> ids);

// x / sqrt(mean(x²) + eps) * gain
Matrix rms_norm(const Matrix& x, std::span<const float> gain, double eps);

// rms_norm of each head of x [T, heads * gain.size()] for itself, all with one gain.
Matrix head_norm(const Matrix& x, std::span<const float> gain, double eps);

// Rotary positions over `heads` heads of spec.head_dim in x [T, heads * head_dim], halves rotated:
// pair (i, i + head_dim/2) turns by position * rope_frequencies[i]. positions[t] is of row t.
Matrix rope(const Matrix& x, int64_t heads, const model::RopeSpec& spec,
            std::span<const int64_t> positions);

// Causal softmax(q kᵀ / sqrt(head_dim)) v. q [T, heads * head_dim], k and v [T, kv_heads *
// head_dim]; query head h reads kv head h / (heads / kv_heads). Row t sees rows 0 … t, or the last
// `window` of them when that is not 0.
Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v, const model::ModelSpec& spec,
                 int64_t window, ThreadPool& pool);

// activation(gate) * up
Matrix gated_activation(const Matrix& gate, const Matrix& up, model::MlpActivation activation);

Matrix add(const Matrix& a, const Matrix& b);

}  // namespace trilith::reference
