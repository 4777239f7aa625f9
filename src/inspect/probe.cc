#include "inspect/probe.h"

#include <algorithm>
#include <cmath>

#include "model/load_tokenizer.h"
#include "model/weights.h"
#include "reference/reference.h"

namespace trilith::inspect {
namespace {

constexpr double kWorstLoss = 10;  // times the loss of a model that knows nothing

double loss_of_token(std::span<const double> logits, int32_t next) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - top);
  return std::log(sum) + top - logits[static_cast<size_t>(next)];
}

}  // namespace

std::string_view default_probe_text() {
  return "Once upon a time, there was a little girl named Lily. She had a red ball and she liked "
         "to "
         "play with it in the park with her mom. One day, the ball rolled away.";
}

Result<Probe> Probe::create(const checkpoint::Checkpoint& checkpoint, std::string_view text) {
  TRILITH_ASSIGN_OR_RETURN(
      model::ModelSpec spec,
      model::model_spec_from_config(checkpoint.config(), checkpoint.generation_config()));
  TRILITH_ASSIGN_OR_RETURN(const auto loaded, model::load_tokenizer(checkpoint));
  if (!loaded) {
    return Error::unsupported("there is no tokenizer to probe with").with_file(checkpoint.folder());
  }
  TRILITH_ASSIGN_OR_RETURN(std::vector<int32_t> ids, loaded->tokenizer.encode(text));
  for (const int32_t id : ids) {
    if (id >= spec.vocab_size) return Error::damaged("the tokenizer has ids the model does not");
  }
  if (ids.size() > kProbeTokens) ids.resize(kProbeTokens);
  if (ids.size() < 2) return Error::usage("the probe text has fewer than two tokens");
  return Probe(checkpoint, std::move(spec), std::move(ids));
}

Result<double> Probe::loss(const model::FormatSheet& sheet) const {
  TRILITH_ASSIGN_OR_RETURN(const model::Weights weights,
                           model::load_weights(*checkpoint_, spec_, sheet));
  ThreadPool pool(0);
  TRILITH_ASSIGN_OR_RETURN(
      const reference::Reference reference,
      reference::Reference::create(weights, reference::Reference::default_mode(spec_), pool));
  TRILITH_ASSIGN_OR_RETURN(const reference::Matrix logits, reference.run(ids_, nullptr));
  double sum = 0;
  for (size_t t = 0; t + 1 < ids_.size(); ++t) {
    const std::span<const double> row(logits.row(static_cast<int64_t>(t)),
                                      static_cast<size_t>(logits.cols));
    sum += loss_of_token(row, ids_[t + 1]);
  }
  const double mean = sum / static_cast<double>(predicted());
  // Under a wrong reading weights may overflow; such a reading knows nothing at all.
  const double worst = kWorstLoss * uniform_loss();
  return std::isfinite(mean) ? std::min(mean, worst) : worst;
}

double Probe::uniform_loss() const { return std::log(static_cast<double>(spec_.vocab_size)); }

}  // namespace trilith::inspect
