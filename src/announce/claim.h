// Claim: what a checkpoint says about one packed linear: which stored tensors make it up, and the
// PackingSpec they are packed by. A claim is derived from names, shapes, config files and metadata
// alone; whether the bytes agree is for verify.h to say. Plain values; the views are the
// checkpoint's and live as long as it does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "packing/codec.h"

namespace trilith::announce {

// One thing that the checkpoint says: a field of the spec, its value, and where it is said
// ("config.json: quantization_config.bits", "shape of q_proj.qweight").
struct Statement {
  std::string field;
  Json value;
  std::string where;
};

// What the writer of a format never fails to produce, so that bytes can contradict a claim.
struct Promises {
  enum class Sign { kAny, kNotNegative, kPositive } scale_sign = Sign::kPositive;
  // Every zero point is this one (symmetric quantisation).
  std::optional<int64_t> constant_zero;
  // Zero points were chosen to fit the weights, so the mean of q − z lies within a step of 0.
  bool centred = false;
  // A scale in the wrong direction gives weights of an absurd size.
  bool checks_direction = false;
  // Codes of a whole byte that hold integers of fewer bits; 0: no such promise.
  int range_bits = 0;
};

// Another reading that the same names and shapes allow. The bytes are asked which one fits.
struct Rival {
  std::string name;  // "gptq_v2: zero points stored as they are"
  packing::PackingSpec spec;
  Promises promises;
  // The announcement covers this reading too; open_readings.h settles it.
  bool also_announced = false;
};

struct Claim {
  std::string module;               // "model.layers.0.self_attn.q_proj"
  packing::TensorsByRole stored;    // by codec role: "codes", "scale", "zero", …
  std::vector<std::string> beside;  // tensors that belong to it and that decoding does not need
  std::string bias;                 // the stored tensor that is added to the output, or empty
  int64_t rows = 0;
  int64_t cols = 0;
  packing::PackingSpec spec;
  Promises promises;
  std::vector<Statement> statements;
  std::vector<Rival> rivals;
};

// What a checkpoint announces as a whole.
struct Announcement {
  std::string format;  // "gptq", "compressed-tensors pack-quantized"
  std::string where;   // "config.json: quantization_config"
  std::vector<Claim> claims;
};

struct MatrixShape {
  int64_t rows = 0;
  int64_t cols = 0;
};
// N and K of a linear by its name, where the architecture tells. Asked where the tensors of a
// format leave them open.
using ShapeOf = std::function<std::optional<MatrixShape>(std::string_view module)>;

}  // namespace trilith::announce
