// Weights: a whole model decoded and checked, ready for the reference (which widens to double) and
// the engine (which packs panels). Low-bit linears stay exact (QuantMatrix); dense parts are F32
// widened from what is stored. Owns everything; immutable after load; big: moved, not copied.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/fingerprint.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/format_sheet.h"
#include "model/model_spec.h"
#include "packing/quant_matrix.h"

namespace trilith::model {

struct DenseMatrix {
  int64_t rows = 0;
  int64_t cols = 0;
  DType stored_dtype = DType::kF32;  // what the checkpoint holds; every value fits it exactly
  std::vector<float> values;         // [rows, cols]
};

struct Linear {
  std::variant<packing::QuantMatrix, DenseMatrix> weight;
  std::vector<float> bias;  // [rows], or empty
  bool is_quantised() const { return weight.index() == 0; }
  int64_t rows() const;
  int64_t cols() const;
};

struct LayerWeights {
  std::vector<float> input_norm, post_norm;
  // Empty where the architecture has none. q_norm and k_norm are of one head.
  std::vector<float> q_norm, k_norm, attn_sub_norm, ffn_sub_norm;
  Linear q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj;
  const Linear& linear(Role role) const;
  Linear& linear(Role role);
  const std::vector<float>& gain(Role role) const;  // of a norm
  std::vector<float>& gain(Role role);
};

struct Weights {
  ModelSpec spec;
  DenseMatrix embedding;
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;
  Linear lm_head;  // when tied: a dense matrix without rows, and the embedding stands for it
  bool tied = false;
  // Of the float32 values of each module (W[N, K] row-major, level times scale rounded once), under
  // module_name, biases under module_name + ".bias": equal for one model in any two packings.
  std::map<std::string, Fingerprint> module_fingerprints;
  std::string fingerprint;  // hex, over module_fingerprints

  // Bytes as stored, by kind, for reports. `packed` and `scales` are those of low-bit linears
  // (a packed head counts as head), `dense` those of dense linears and biases.
  struct Bytes {
    uint64_t packed = 0, scales = 0, dense = 0, embedding = 0, head = 0, norms = 0;
  };
  Bytes bytes;
};

struct LoadOptions {
  bool unused_as_zero = false;  // codes without a level count as 0 in place of an error
  int threads = 0;              // that decode; 0: one a processor
  // Off: no module_fingerprints and an empty fingerprint. They take four times as long as decoding
  // (9 of 11 ns a weight on one core), and only traces need them.
  bool fingerprints = true;
};

// The packed linears by `sheet`; everything else under its own name in the checkpoint. Checks every
// shape against the architecture, refuses non-finite values, and names what is missing or left
// over.
Result<Weights> load_weights(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec,
                             const FormatSheet& sheet, const LoadOptions& options = {});

}  // namespace trilith::model
