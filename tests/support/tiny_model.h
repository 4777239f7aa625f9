// Tiny random checkpoints of a supported architecture, packed by any PackingSpec, under
// transformers' or neutral names, with the truth beside them. The weights are made so that every
// operation matters: attention is neither uniform nor one-hot (entropy at most 0.8 ln T), and every
// update is at least a tenth of the residual (tests/unit/model/tiny_model_test.cc measures both).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/tensor_view.h"
#include "model/format_sheet.h"
#include "model/model_spec.h"
#include "packing/spec.h"

namespace trilith::support {

struct TinyModelOptions {
  std::string model_type = "llama";  // or "bitnet"
  uint64_t seed = 1;
  int64_t vocab_size = 96;
  int64_t hidden_size = 64;
  int64_t intermediate_size = 96;
  int64_t num_hidden_layers = 2;
  int64_t num_attention_heads = 4;
  int64_t num_key_value_heads = 2;
  int64_t head_dim = 16;
  double rope_theta = 10000;
  bool tied = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  std::string hidden_act;  // empty: the family's
  // Of the linears but the head; none: dense. `packing_of` overrides it for single roles.
  std::optional<packing::PackingSpec> packing;
  std::map<model::Role, packing::PackingSpec> packing_of;
  DType dense_dtype = DType::kF16;  // embedding, norms, head, biases, dense linears
  bool neutral_names = false;       // "m07.p0", "t03" in place of transformers' names
  Json quantization_config;         // written to config.json when not null
};

struct TinyTensor {
  std::string name;
  DType dtype = DType::kU8;
  Shape shape;
  std::vector<std::byte> bytes;
};

struct TinyModel {
  Json config;
  model::ModelSpec spec;
  model::FormatSheet sheet;  // the true format and names
  std::vector<TinyTensor> tensors;
  // The float32 values of every part: module_name, or module_name + ".bias".
  std::map<std::string, std::vector<float>> dense;

  // To break a model on purpose. `find` aborts when there is no such tensor.
  TinyTensor& find(const std::string& name);
  // The tensor that holds `role` ("codes", "scale", …) of a packed module, or the dense tensor.
  TinyTensor& tensor_of(const model::ModuleId& id, const std::string& role = "codes");
  void remove(const std::string& name);

  // config.json and model.safetensors, or that many shards and an index.
  void write(const std::string& folder, int shards = 1) const;
  // trilith_sheet.json with the truth.
  void write_sheet(const std::string& folder) const;
};

TinyModel make_tiny_model(const TinyModelOptions& options = {});

}  // namespace trilith::support
