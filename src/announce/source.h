// Source: a checkpoint as the recognisers see it: its tensors by name, the quantisation config with
// the file it came from, and the shapes that the architecture tells. Holds views; the checkpoint
// must outlive it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "announce/claim.h"
#include "checkpoint/checkpoint.h"

namespace trilith::announce {

// A JSON object with the place it was found at, so that statements can say where.
struct Settings {
  Json values;
  std::string where;   // "config.json: quantization_config"
  std::string method;  // quant_method, lower case; empty when none is named
};

class Source {
 public:
  Source(const checkpoint::Checkpoint& checkpoint, ShapeOf shape_of);

  const checkpoint::Checkpoint& checkpoint() const { return checkpoint_; }
  const std::vector<TensorView>& tensors() const { return checkpoint_.tensors(); }
  const TensorView* find(std::string_view name) const { return checkpoint_.find(name); }
  // quantization_config of config.json, or a file beside it; null values when there is none.
  const Settings& settings() const { return settings_; }
  std::optional<MatrixShape> shape_of(std::string_view module) const;

  // The prefixes of all tensors that end in `suffix` (".qweight"), in name order.
  std::vector<std::string> modules_with(std::string_view suffix) const;

 private:
  const checkpoint::Checkpoint& checkpoint_;
  ShapeOf shape_of_;
  Settings settings_;
};

// What every family needs while it builds a claim. Each remembers what it was asked for.
class ClaimBuilder {
 public:
  ClaimBuilder(const Source& source, std::string module);

  const std::string& module() const { return claim_.module; }
  Claim& claim() { return claim_; }
  const Claim& claim() const { return claim_; }
  // The tensor `module + suffix`, or null.
  const TensorView* find(std::string_view suffix) const;
  // The same, stored under `role`; an error when it is absent.
  Result<const TensorView*> store(std::string_view role, std::string_view suffix);
  // Notes tensors that belong to the module without being decoded, as far as they are there.
  void note_beside(std::initializer_list<std::string_view> suffixes);
  void state(std::string_view field, Json value, std::string where);
  // Finishes: takes `module + ".bias"` along when it is a float vector.
  Claim finish() &&;

 private:
  const Source& source_;
  Claim claim_;
};

// An error that names the module: what is announced and what is there instead.
Error contradiction(const std::string& tensor, std::string message, std::string expected,
                    std::string found);
// A float type that scales and zero points may have.
bool is_scale_type(DType dtype);
// `text` in lower case (ASCII).
std::string lower(std::string_view text);
// Integer `key` of a JSON object; null and absent give nothing.
std::optional<int64_t> integer(const Json& json, std::string_view key);
std::string text(const Json& json, std::string_view key, std::string_view otherwise = "");
// The elements of a small integer tensor (weight_shape); nothing unless 1 ≤ count ≤ `limit`.
std::vector<int64_t> small_integers(const TensorView& tensor, size_t limit = 8);

}  // namespace trilith::announce
