// Reference: the slow truth. A decoder's forward pass over whole sequences in double precision from
// decoded weights, with plain loops that share no arithmetic with kernels/ and engine/. It is what
// every other implementation is held against.
//
// All activations are double; rotary angles, norms and softmax too (transformers computes these in
// float32 even for double models, which differs by about 1e-7 a step). A trace holds the values
// rounded once to float32. libm is used, so the last bit of a double may depend on its version.
//
// Borrows the weights and the pool, which must outlive it. Results do not depend on the number of
// threads. Not thread-safe: one call at a time, for the pool's sake.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/trace_sink.h"
#include "model/weights.h"
#include "reference/activation.h"
#include "reference/linear.h"
#include "reference/matrix.h"
#include "reference/steps.h"

namespace trilith::reference {

// What one step reads: token ids (embed only), one matrix an input, and the position of each row
// for rope; no positions means rows 0, 1, 2, …
struct StepInputs {
  std::span<const int32_t> ids;
  std::vector<const Matrix*> values;
  std::span<const int64_t> positions;
};

class Reference {
 public:
  // Refuses weights that do not make up the architecture `weights.spec` names.
  static Result<Reference> create(const model::Weights& weights, Mode mode, ThreadPool& pool);
  // What the model was trained with: a8 for BitNet, else a16.
  static Mode default_mode(const model::ModelSpec& spec);

  const model::ModelSpec& spec() const { return weights_->spec; }
  Mode mode() const { return mode_; }
  const std::vector<Step>& steps() const { return steps_; }
  // The step that produces `point`, or nullptr.
  const Step* find_step(std::string_view point) const;

  // Logits [T, vocab]. `sink` may be null.
  Result<Matrix> run(std::span<const int32_t> ids, model::TraceSink* sink) const;

  // One step on given inputs; refuses shapes that do not fit. Integer results for linears only.
  Result<LinearOutput> evaluate(const Step& step, const StepInputs& inputs) const;
  // A quantised linear step on codes made elsewhere.
  Result<LinearOutput> evaluate_codes(const Step& step, QuantisedActivation input) const;

 private:
  Reference(const model::Weights& weights, Mode mode, ThreadPool& pool)
      : weights_(&weights), mode_(mode), pool_(&pool), steps_(forward_steps(weights.spec)) {}

  Status check_ids(std::span<const int32_t> ids) const;
  Status check_shapes(const Step& step, const StepInputs& inputs) const;
  std::span<const float> gain(const model::ModuleId& module) const;
  const model::Linear& linear_weights(const model::ModuleId& module) const;

  const model::Weights* weights_;
  Mode mode_;
  ThreadPool* pool_;
  std::vector<Step> steps_;
};

}  // namespace trilith::reference
