#include "announce/announce.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "announce/families.h"
#include "announce/open_readings.h"

namespace trilith::announce {
namespace {

constexpr std::array kRecognisers = {
    Recogniser{"gguf", gguf_claims},
    Recogniser{"gptq", gptq_claims},
    Recogniser{"awq", awq_claims},
    Recogniser{"compressed-tensors", compressed_tensors_claims},
    Recogniser{"hqq", hqq_claims},
    Recogniser{"quanto", quanto_claims},
    Recogniser{"bitsandbytes", bitsandbytes_claims},
    Recogniser{"torchao", torchao_claims},
    Recogniser{"bitnet", bitnet_claims},
    Recogniser{"gemma", gemma_claims},
    Recogniser{"t-mac", tmac_claims},
    Recogniser{"mlx", mlx_claims},
};

// Matrices of small integers are codes of something. Sizes below this are tables and counters.
constexpr int64_t kSmallestCodes = 8;

bool looks_packed(const TensorView& tensor) {
  if (!is_integer(tensor.dtype) || dtype_size(tensor.dtype) > 4) return false;
  return tensor.shape.size() == 2 && tensor.shape[0] >= kSmallestCodes &&
         tensor.shape[1] >= kSmallestCodes;
}

// An announced format that leaves codes unexplained is not the whole truth.
Status check_all_explained(const Source& source, const Announcement& announcement) {
  std::set<std::string_view> explained;
  for (const Claim& claim : announcement.claims) {
    for (const auto& [role, tensor] : claim.stored) explained.insert(tensor.name);
    explained.insert(claim.beside.begin(), claim.beside.end());
  }
  for (const TensorView& tensor : source.tensors()) {
    if (!looks_packed(tensor) || explained.contains(tensor.name)) continue;
    return contradiction(
        tensor.name,
        fmt::format("the announced format ({}) does not explain this tensor", announcement.format),
        "no other matrices of small integers",
        fmt::format("{} {}", dtype_name(tensor.dtype), shape_string(tensor.shape)));
  }
  return {};
}

}  // namespace

std::span<const Recogniser> recognisers() { return kRecognisers; }

Recognised announced(const checkpoint::Checkpoint& checkpoint, const ShapeOf& shape_of) {
  const Source source(checkpoint, shape_of);
  for (const Recogniser& recogniser : recognisers()) {
    Recognised found = recogniser.claims(source);
    if (!found) continue;
    if (!found->ok()) return found;
    if (Status status = check_all_explained(source, **found); !status.ok()) {
      return Result<Announcement>(std::move(status).error());
    }
    settle_open_readings(source, **found);
    return found;
  }
  return std::nullopt;
}

}  // namespace trilith::announce
