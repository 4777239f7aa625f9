// The probe: the loss of a short text under a reading of the whole model, through the reference
// implementation. A wrong order, table or direction makes a model that knows nothing, with a loss
// of ln(vocabulary) or worse; the right reading gives the loss it was trained to. What is exactly
// symmetric in the network (a sign shared by q and k, …) cannot be seen here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "model/format_sheet.h"
#include "model/model_spec.h"
#include "text/tokenizer.h"

namespace trilith::inspect {

// Plain English of the kind that every language model has seen, stories above all.
std::string_view default_probe_text();
constexpr size_t kProbeTokens = 32;

class Probe {
 public:
  // Needs a tokenizer (in a GGUF file's keys, or a tokenizer.json in the checkpoint's folder) and a
  // config of a known architecture; the error says what is missing. `checkpoint` must outlive the
  // probe.
  static Result<Probe> create(const checkpoint::Checkpoint& checkpoint, std::string_view text);

  // Mean loss in nats a token.
  Result<double> loss(const model::FormatSheet& sheet) const;
  size_t tokens() const { return ids_.size(); }  // of the text; the first one is not predicted
  size_t predicted() const { return ids_.size() - 1; }
  const model::ModelSpec& spec() const { return spec_; }
  // ln(vocabulary): the loss of a model that knows nothing.
  double uniform_loss() const;

 private:
  Probe(const checkpoint::Checkpoint& checkpoint, model::ModelSpec spec, std::vector<int32_t> ids)
      : checkpoint_(&checkpoint), spec_(std::move(spec)), ids_(std::move(ids)) {}

  const checkpoint::Checkpoint* checkpoint_;
  model::ModelSpec spec_;
  std::vector<int32_t> ids_;
};

}  // namespace trilith::inspect
