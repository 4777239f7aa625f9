#include "engine/engine.h"

#include <algorithm>

#include "engine/forward_pass.h"
#include "kernels/registry.h"

namespace trilith::engine {

struct Engine::Impl {
  PreparedModel model;
  Mode mode = Mode::kA16;
  EngineFault fault;
  const kernels::KernelSet* kernels = nullptr;
  std::unique_ptr<ThreadPool> pool;
  RopeTable rope;
  RopeTable faulty_rope;
  Workspace workspace;

  template <typename Weights>
  static Result<Engine> create(Weights&& weights, const Options& options);
  Result<int64_t> check(const Batch& batch) const;
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

const model::ModelSpec& Engine::spec() const { return impl_->model.spec; }
Mode Engine::mode() const { return impl_->mode; }
std::string_view Engine::isa() const { return impl_->kernels->name; }
int Engine::threads() const { return impl_->pool->threads(); }
int64_t Engine::weight_bytes() const { return impl_->model.linear_bytes; }

template <typename Weights>
Result<Engine> Engine::Impl::create(Weights&& weights, const Options& options) {
  const kernels::FloatEnvironment environment;
  if (options.threads < 0 || options.threads > 1024) {
    return Error::usage("an impossible number of threads")
        .with_expected("0 to 1024")
        .with_found(std::to_string(options.threads));
  }
  auto impl = std::make_unique<Impl>();
  TRILITH_ASSIGN_OR_RETURN(impl->kernels, kernels::choose_kernels(options.isa));
  impl->mode = options.mode.value_or(default_mode(weights.spec));
  impl->fault = options.fault;
  TRILITH_ASSIGN_OR_RETURN(impl->model, prepare_model(std::forward<Weights>(weights), impl->mode));
  impl->pool = std::make_unique<ThreadPool>(options.threads);
  model::RopeSpec rope = impl->model.spec.rope;
  impl->rope = RopeTable(rope);
  if (options.fault.kind == EngineFault::Kind::kRopeTheta) {
    rope.theta *= options.fault.factor;
    impl->faulty_rope = RopeTable(rope);
  }
  return Engine(std::move(impl));
}

Result<Engine> Engine::create(model::Weights&& weights, const Options& options) {
  return Impl::create(std::move(weights), options);
}

Result<Engine> Engine::create(const model::Weights& weights, const Options& options) {
  return Impl::create(weights, options);
}

// The positions that the batch needs.
Result<int64_t> Engine::Impl::check(const Batch& batch) const {
  const model::ModelSpec& spec = model.spec;
  int64_t positions = 0;
  if (batch.sequences.empty()) return Error::usage("a batch without sequences");
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const Sequence& sequence = batch.sequences[i];
    const std::string where = "sequence " + std::to_string(i);
    if (sequence.ids.empty()) return Error::usage("no tokens").with_context(where);
    if (sequence.cache == nullptr || !sequence.cache->fits(spec)) {
      return Error::usage("its cache was made for another model").with_context(where);
    }
    for (size_t j = 0; j < i; ++j) {
      if (batch.sequences[j].cache == sequence.cache) {
        return Error::usage("its cache is that of another sequence of the batch")
            .with_context(where);
      }
    }
    const auto wrong = std::find_if(sequence.ids.begin(), sequence.ids.end(),
                                    [&](int32_t id) { return id < 0 || id >= spec.vocab_size; });
    if (wrong != sequence.ids.end()) {
      return Error::usage("token id outside the vocabulary")
          .with_expected("0 to " + std::to_string(spec.vocab_size - 1))
          .with_found(std::to_string(*wrong))
          .with_context(where);
    }
    const int64_t end = sequence.cache->length() + static_cast<int64_t>(sequence.ids.size());
    if (end > sequence.cache->capacity()) {
      return Error::usage("the context is full")
          .with_expected("at most " + std::to_string(sequence.cache->capacity()) + " tokens")
          .with_found(std::to_string(end))
          .with_context(where);
    }
    positions = std::max(positions, end);
  }
  return positions;
}

Result<Logits> Engine::forward(const Batch& batch, model::TraceSink* sink) {
  const kernels::FloatEnvironment environment;
  TRILITH_ASSIGN_OR_RETURN(const int64_t positions, impl_->check(batch));
  impl_->rope.grow(positions);
  impl_->faulty_rope.grow(positions);
  ForwardPass pass({.model = &impl_->model,
                    .mode = impl_->mode,
                    .fault = impl_->fault,
                    .worker = {impl_->kernels, impl_->pool.get()},
                    .rope = &impl_->rope,
                    .faulty_rope = &impl_->faulty_rope,
                    .workspace = &impl_->workspace,
                    .sink = sink},
                   batch);
  Logits logits = pass.run();
  for (const Sequence& sequence : batch.sequences) {
    sequence.cache->advance(static_cast<int64_t>(sequence.ids.size()));
  }
  return logits;
}

}  // namespace trilith::engine
