// ForwardPass: one call of Engine::forward, walked step by step over a workspace that is reused
// from call to call. Inputs have been checked.
#pragma once

#include <string_view>
#include <vector>

#include "engine/activations.h"
#include "engine/engine.h"
#include "engine/parallel.h"
#include "engine/prepared_model.h"
#include "engine/rope_table.h"

namespace trilith::engine {

// Buffers of a pass, [tokens, …] each.
struct Workspace {
  std::vector<float> hidden, normed, q, k, v, attention, projected, gate, up, activated;
  ActivationCodes codes;
  std::vector<int32_t> accumulators;
};

class ForwardPass {
 public:
  struct Context {
    const PreparedModel* model;
    Mode mode;
    EngineFault fault;
    Worker worker;
    const RopeTable* rope;
    const RopeTable* faulty_rope;  // for the layer of a kRopeTheta fault
    Workspace* workspace;
    model::TraceSink* sink;  // or null
  };

  ForwardPass(const Context& context, const Batch& batch);
  Logits run();

 private:
  struct Token {
    int32_t id;
    int64_t position;
    KvCache* cache;
    bool wanted;
  };

  void embed();
  void attention_block(const PreparedLayer& layer);
  void mlp_block(const PreparedLayer& layer);
  void norm_heads(std::vector<float>& x, int64_t heads, const std::vector<float>& gain,
                  std::string_view point);
  void rotate(std::vector<float>& x, int64_t heads, std::string_view point);
  void store_keys_and_values();
  void attend();
  Logits head();

  // The rows of `x`, normed into workspace.normed.
  void norm(const std::vector<float>& x, const std::vector<float>& gain, std::string_view point);
  // Codes of `x` for the linears that follow, when any of them takes codes.
  void quantise(const std::vector<float>& x, std::initializer_list<const PreparedLinear*> readers);
  void linear(const PreparedLinear& linear, const std::vector<float>& x, std::vector<float>& out,
              std::string_view point);
  void add_to_hidden(const std::vector<float>& x, std::string_view point);
  void gated_activation();

  void record(std::string_view point, const std::vector<float>& values, int64_t cols);
  void record_codes(std::string_view point, const PreparedLinear& linear);
  std::string full_name(std::string_view point) const;
  void resize(std::vector<float>& buffer, int64_t cols) const {
    buffer.resize(static_cast<size_t>(count() * cols));
  }
  int64_t count() const { return static_cast<int64_t>(tokens_.size()); }

  Context context_;
  const model::ModelSpec& spec_;
  Workspace& work_;
  std::vector<Token> tokens_;
  int64_t layer_ = -1;  // −1 outside the layers
};

}  // namespace trilith::engine
