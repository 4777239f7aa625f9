// The plan of a conversion: how every part of the model is written, under which names, and what
// would be lost. Made by decoding each part once.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transform/convert.h"
#include "transform/output_folder.h"

namespace trilith::transform {

// A tensor of the output, and the codec role of its bytes where it has one.
struct PlannedTensor {
  std::string role;  // empty: the dense values, or bytes that are known already
  TensorToCome tensor;
  std::vector<std::byte> bytes;  // of tensors beside the codes
};

struct PlannedPart {
  const model::PartSource* source = nullptr;  // null: a tensor that is carried over
  const TensorView* carried = nullptr;
  std::optional<packing::PackingSpec> spec;  // packed so; else dense
  std::vector<PlannedTensor> tensors;        // in the order in which they are written
};

struct Plan {
  std::vector<PlannedPart> parts;
  ModelFacts facts;
  std::vector<Loss> losses;  // over all parts
  std::vector<std::string> notes;
  uint64_t bytes = 0;
};

Result<Plan> make_plan(const ConvertRequest& request, const Source& source,
                       const std::function<Status()>& after_part);

// The values of a part that the output holds packed: the codes as stored, or what a dense matrix
// holds that takes the values −s, 0 and s alone.
Result<packing::QuantMatrix> load_codes(const Source& source, const model::PartSource& part,
                                        const ConvertRequest& request);

// Hands over the bytes of a planned part's tensors, in their order.
using TensorSink = std::function<Status(const TensorToCome&, std::span<const std::byte>)>;
Status encode_part(const ConvertRequest& request, const Source& source, const PlannedPart& part,
                   const TensorSink& sink);

}  // namespace trilith::transform
