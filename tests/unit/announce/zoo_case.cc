#include "zoo_case.h"

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"

namespace trilith::announce {

ZooCase::ZooCase(const std::string& name) {
  const std::string from = std::string(TRILITH_SOURCE_DIR) + "/tests/zoo/" + name + "/documented";
  const auto opened = checkpoint::Checkpoint::open(from);
  EXPECT_TRUE(opened.ok()) << opened.error().to_string();
  config = opened->config();
  metadata_ = opened->metadata();
  for (const TensorView& view : opened->tensors()) {
    tensors[view.name] = {view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
  }
}

StoredCopy& ZooCase::tensor(const std::string& ending) {
  for (auto& [name, copy] : tensors) {
    if (name.ends_with(ending)) return copy;
  }
  ADD_FAILURE() << "no tensor " << ending;
  static StoredCopy none;
  return none;
}

void ZooCase::say(const std::string& key, Json value) {
  Json settings = config["quantization_config"];
  settings.set(key, std::move(value));
  config.set("quantization_config", std::move(settings));
}

Recognised ZooCase::announced() {
  std::vector<checkpoint::TensorToWrite> all;
  for (const auto& [name, copy] : tensors)
    all.push_back({name, copy.dtype, copy.shape, copy.bytes});
  const Status written =
      checkpoint::write_safetensors(folder_.file("model.safetensors"), all, metadata_);
  EXPECT_TRUE(written.ok()) << written.error().to_string();
  folder_.write("config.json", config.dump());
  checkpoint_.emplace(checkpoint::Checkpoint::open(folder_.path()).value());
  const auto size = [&](std::string_view key) { return config[key].as_integer().value_or(0); };
  const int64_t hidden = size("hidden_size");
  const int64_t inner = size("intermediate_size");
  const int64_t head = size("head_dim");
  const int64_t heads = size("num_attention_heads");
  const int64_t groups = size("num_key_value_heads");
  return announce::announced(*checkpoint_,
                             [=](std::string_view module) -> std::optional<MatrixShape> {
                               if (module.ends_with("q_proj"))
                                 return MatrixShape{heads * head, hidden};
                               if (module.ends_with("k_proj"))
                                 return MatrixShape{groups * head, hidden};
                               if (module.ends_with("up_proj")) return MatrixShape{inner, hidden};
                               if (module.ends_with("down_proj")) return MatrixShape{hidden, inner};
                               return std::nullopt;
                             });
}

}  // namespace trilith::announce
