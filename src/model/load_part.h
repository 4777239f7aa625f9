// Loading of one part of a model: which stored tensors it comes from (found and checked for shape
// before any data is read) and its decoding. Parts are independent, so they decode in parallel.
#pragma once

#include <string>
#include <variant>

#include "base/fingerprint.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/weights.h"
#include "packing/codec.h"

namespace trilith::model {

struct PartSource {
  ModuleId id;
  bool is_bias = false;
  int64_t rows = 0;  // as the architecture says; a norm's gain and a bias are [rows, 1]
  int64_t cols = 0;
  // Row r of the part is row stored_rows[r] of what is stored (rope_rows.h); empty: as stored.
  std::vector<int64_t> stored_rows = {};
  std::variant<const TensorView*, const ModuleFormat*> from;

  std::string name() const;  // module_name, with ".bias" for a bias
  bool is_packed() const { return from.index() == 1; }
};

// Where every part of a model lies. The pointers are into the checkpoint and the sheet.
struct PartPlan {
  std::vector<PartSource> sources;     // in execution order
  std::vector<std::string> left_over;  // tensors that belong to no part, in name order
};
// Finds every part and checks its shape; no data is read but biases that should not be there.
Result<PartPlan> plan_parts(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec,
                            const FormatSheet& sheet);

struct LoadedPart {
  std::variant<packing::QuantMatrix, DenseMatrix> values;
  Fingerprint fingerprint;
};

// A dense part: its tensor must be F16, BF16 or F32 and have the shape of the architecture.
Status check_dense(const PartSource& source, const TensorView& tensor);

Result<LoadedPart> load_part(const checkpoint::Checkpoint& checkpoint, const PartSource& source,
                             const LoadOptions& options);

}  // namespace trilith::model
