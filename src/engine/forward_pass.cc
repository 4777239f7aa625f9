#include "engine/forward_pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/linear_forward.h"
#include "kernels/attention.h"

namespace trilith::engine {

ForwardPass::ForwardPass(const Context& context, const Batch& batch)
    : context_(context), spec_(context.model->spec), work_(*context.workspace) {
  for (const Sequence& sequence : batch.sequences) {
    for (size_t i = 0; i < sequence.ids.size(); ++i) {
      const bool last = i + 1 == sequence.ids.size();
      tokens_.push_back({.id = sequence.ids[i],
                         .position = sequence.cache->length() + static_cast<int64_t>(i),
                         .cache = sequence.cache,
                         .wanted = sequence.logits == LogitsWanted::kAll ||
                                   (last && sequence.logits == LogitsWanted::kLast)});
    }
  }
}

Logits ForwardPass::run() {
  embed();
  for (size_t i = 0; i < context_.model->layers.size(); ++i) {
    layer_ = static_cast<int64_t>(i);
    attention_block(context_.model->layers[i]);
    mlp_block(context_.model->layers[i]);
  }
  layer_ = -1;
  return head();
}

void ForwardPass::embed() {
  resize(work_.hidden, spec_.hidden_size);
  for (int64_t t = 0; t < count(); ++t) {
    context_.model->embedding.widen_row(tokens_[static_cast<size_t>(t)].id,
                                        work_.hidden.data() + t * spec_.hidden_size);
  }
  record("embed", work_.hidden, spec_.hidden_size);
}

void ForwardPass::attention_block(const PreparedLayer& layer) {
  norm(work_.hidden, layer.input_norm, "input_norm");
  quantise(work_.normed, {&layer.q_proj, &layer.k_proj, &layer.v_proj});
  linear(layer.q_proj, work_.normed, work_.q, "q_proj");
  linear(layer.k_proj, work_.normed, work_.k, "k_proj");
  linear(layer.v_proj, work_.normed, work_.v, "v_proj");
  if (!layer.q_norm.empty()) {
    norm_heads(work_.q, spec_.num_attention_heads, layer.q_norm, "q_norm");
    norm_heads(work_.k, spec_.num_key_value_heads, layer.k_norm, "k_norm");
  }
  if (spec_.layer(layer_).rope) {
    rotate(work_.q, spec_.num_attention_heads, "q_rope");
    rotate(work_.k, spec_.num_key_value_heads, "k_rope");
  }
  store_keys_and_values();
  attend();
  const std::vector<float>* context = &work_.attention;
  if (!layer.attn_sub_norm.empty()) {
    norm(work_.attention, layer.attn_sub_norm, "attn_sub_norm");
    context = &work_.normed;
  }
  quantise(*context, {&layer.o_proj});
  linear(layer.o_proj, *context, work_.projected, "o_proj");
  add_to_hidden(work_.projected, "attn_residual");
}

void ForwardPass::mlp_block(const PreparedLayer& layer) {
  norm(work_.hidden, layer.post_norm, "post_norm");
  quantise(work_.normed, {&layer.gate_proj, &layer.up_proj});
  linear(layer.gate_proj, work_.normed, work_.gate, "gate_proj");
  linear(layer.up_proj, work_.normed, work_.up, "up_proj");
  gated_activation();
  const std::vector<float>* context = &work_.activated;
  if (!layer.ffn_sub_norm.empty()) {
    norm(work_.activated, layer.ffn_sub_norm, "ffn_sub_norm");
    context = &work_.normed;
  }
  quantise(*context, {&layer.down_proj});
  linear(layer.down_proj, *context, work_.projected, "down_proj");
  add_to_hidden(work_.projected, "out");
}

void ForwardPass::norm_heads(std::vector<float>& x, int64_t heads, const std::vector<float>& gain,
                             std::string_view point) {
  const int64_t dim = spec_.head_dim;
  const auto eps = static_cast<float>(spec_.rms_norm_eps);
  context_.worker.for_each(count(), 1, count() * heads * dim * 4, [&](int64_t begin, int64_t end) {
    for (int64_t head = begin * heads; head < end * heads; ++head) {
      float* const at = x.data() + head * dim;
      context_.worker.kernels->rms_norm(at, gain.data(), dim, eps, at);
    }
  });
  record(point, x, heads * dim);
}

void ForwardPass::rotate(std::vector<float>& x, int64_t heads, std::string_view point) {
  const bool faulty =
      context_.fault.kind == EngineFault::Kind::kRopeTheta && context_.fault.layer == layer_;
  const RopeTable& table = faulty ? *context_.faulty_rope : *context_.rope;
  const int64_t width = heads * spec_.head_dim;
  context_.worker.for_each(count(), 1, count() * width * 4, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t position = tokens_[static_cast<size_t>(t)].position;
      context_.worker.kernels->rope(x.data() + t * width, heads, spec_.head_dim,
                                    table.cos(position), table.sin(position));
    }
  });
  record(point, x, width);
}

void ForwardPass::store_keys_and_values() {
  const int64_t head_dim = spec_.head_dim;
  const size_t bytes = static_cast<size_t>(head_dim) * sizeof(float);
  for (int64_t t = 0; t < count(); ++t) {
    const Token& token = tokens_[static_cast<size_t>(t)];
    for (int64_t h = 0; h < spec_.num_key_value_heads; ++h) {
      const int64_t from = t * spec_.kv_size() + h * head_dim;
      const int64_t to = token.position * head_dim;
      std::memcpy(token.cache->keys(layer_, h) + to, work_.k.data() + from, bytes);
      std::memcpy(token.cache->values(layer_, h) + to, work_.v.data() + from, bytes);
    }
  }
}

void ForwardPass::attend() {
  resize(work_.attention, spec_.q_size());
  const int64_t kv_heads = spec_.num_key_value_heads;
  const int64_t group = spec_.num_attention_heads / kv_heads;
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec_.head_dim)));
  const int64_t window = spec_.layer(layer_).window;
  const auto first_key = [window](const Token& token) {
    return window == 0 ? 0 : std::max<int64_t>(0, token.position + 1 - window);
  };
  int64_t bytes = 0;
  for (const Token& token : tokens_) {
    bytes += (token.position + 1 - first_key(token)) * spec_.q_size() * 8;
  }
  context_.worker.for_each(count() * kv_heads, 1, bytes, [&](int64_t begin, int64_t end) {
    std::vector<float> scratch;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t t = i / kv_heads;
      const int64_t h = i % kv_heads;
      const Token& token = tokens_[static_cast<size_t>(t)];
      const int64_t at = t * spec_.q_size() + h * group * spec_.head_dim;
      kernels::attend(*context_.worker.kernels,
                      {.q = work_.q.data() + at,
                       .heads = group,
                       .head_dim = spec_.head_dim,
                       .keys = token.cache->keys(layer_, h),
                       .values = token.cache->values(layer_, h),
                       .kv_stride = spec_.head_dim,
                       .first = first_key(token),
                       .count = token.position + 1,
                       .scale = scale,
                       .out = work_.attention.data() + at},
                      scratch);
    }
  });
  record("attn", work_.attention, spec_.q_size());
}

Logits ForwardPass::head() {
  const PreparedModel& model = *context_.model;
  const int64_t hidden = spec_.hidden_size;
  // The rows that are wanted, in front; a sink sees the norm of all of them.
  if (context_.sink != nullptr) norm(work_.hidden, model.final_norm, "final_norm");
  Logits logits;
  logits.vocab_size = spec_.vocab_size;
  for (size_t t = 0; t < tokens_.size(); ++t) {
    if (!tokens_[t].wanted) continue;
    std::memmove(work_.hidden.data() + logits.rows * hidden,
                 work_.hidden.data() + static_cast<int64_t>(t) * hidden,
                 static_cast<size_t>(hidden) * sizeof(float));
    tokens_[static_cast<size_t>(logits.rows++)] = tokens_[t];
  }
  tokens_.resize(static_cast<size_t>(logits.rows));
  if (logits.rows == 0) return logits;
  model::TraceSink* const sink = context_.sink;
  context_.sink = nullptr;
  norm(work_.hidden, model.final_norm, "final_norm");
  context_.sink = sink;
  if (model.tied) {
    resize(logits.values, spec_.vocab_size);
    const DenseRows& rows = model.embedding;
    context_.worker.for_each(
        spec_.vocab_size, 32, rows.bytes() * logits.rows, [&](int64_t begin, int64_t end) {
          rows.dot(*context_.worker.kernels, begin, end - begin, work_.normed.data(), hidden,
                   logits.rows, logits.values.data() + begin, spec_.vocab_size);
        });
    record("logits", logits.values, spec_.vocab_size);
  } else {
    quantise(work_.normed, {&model.lm_head});
    linear(model.lm_head, work_.normed, logits.values, "logits");
  }
  return logits;
}

void ForwardPass::norm(const std::vector<float>& x, const std::vector<float>& gain,
                       std::string_view point) {
  const auto width = static_cast<int64_t>(gain.size());
  resize(work_.normed, width);
  const auto eps = static_cast<float>(spec_.rms_norm_eps);
  context_.worker.for_each(count(), 1, count() * width * 4, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      context_.worker.kernels->rms_norm(x.data() + t * width, gain.data(), width, eps,
                                        work_.normed.data() + t * width);
    }
  });
  record(point, work_.normed, width);
}

void ForwardPass::quantise(const std::vector<float>& x,
                           std::initializer_list<const PreparedLinear*> readers) {
  for (const PreparedLinear* reader : readers) {
    if (!reader->takes_codes) continue;
    work_.codes.quantise(context_.worker, context_.mode, x.data(), count(), reader->cols);
    return;
  }
}

void ForwardPass::linear(const PreparedLinear& linear, const std::vector<float>& x,
                         std::vector<float>& out, std::string_view point) {
  resize(out, linear.rows);
  const LinearInput input = {x.data(), &work_.codes, count()};
  forward_linear(context_.worker, linear, input, context_.fault, out.data(),
                 context_.sink != nullptr ? &work_.accumulators : nullptr);
  if (context_.sink == nullptr) return;
  record_codes(point, linear);
  record(point, out, linear.rows);
}

void ForwardPass::add_to_hidden(const std::vector<float>& x, std::string_view point) {
  const auto size = static_cast<int64_t>(x.size());
  context_.worker.kernels->add(work_.hidden.data(), x.data(), size, work_.hidden.data());
  record(point, work_.hidden, spec_.hidden_size);
}

void ForwardPass::gated_activation() {
  const int64_t width = spec_.intermediate_size;
  resize(work_.activated, width);
  const auto kernel = spec_.activation == model::MlpActivation::kSilu
                          ? context_.worker.kernels->silu_mul
                          : context_.worker.kernels->relu2_mul;
  context_.worker.for_each(count(), 1, count() * width * 12, [&](int64_t begin, int64_t end) {
    kernel(work_.gate.data() + begin * width, work_.up.data() + begin * width,
           (end - begin) * width, work_.activated.data() + begin * width);
  });
  record("act", work_.activated, width);
}

std::string ForwardPass::full_name(std::string_view point) const {
  return layer_ < 0 ? std::string(point) : model::layer_point(layer_, point);
}

void ForwardPass::record(std::string_view point, const std::vector<float>& values, int64_t cols) {
  if (context_.sink == nullptr) return;
  context_.sink->record(full_name(point), count(), cols,
                        std::span(values).first(static_cast<size_t>(count() * cols)));
}

void ForwardPass::record_codes(std::string_view point, const PreparedLinear& linear) {
  if (!linear.takes_codes) return;
  const ActivationCodes& codes = work_.codes;
  std::vector<int32_t> values;
  values.reserve(static_cast<size_t>(codes.tokens * codes.cols));
  for (int64_t t = 0; t < codes.tokens; ++t) {
    for (int64_t k = 0; k < codes.cols; ++k) values.push_back(codes.code(t, k));
  }
  const std::string name = full_name(point);
  context_.sink->record_integers(name + ".x_codes", codes.tokens, codes.cols, values);
  context_.sink->record(name + ".x_scale", codes.tokens, 1, codes.s);
  if (!work_.accumulators.empty()) {
    context_.sink->record_integers(name + ".acc", codes.tokens, linear.rows, work_.accumulators);
  }
}

}  // namespace trilith::engine
