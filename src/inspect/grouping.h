// Which stored tensors belong together. Tensors under a common prefix form a module
// ("…q_proj.weight_ternary", "…q_proj.weight_scale"; "m03.p0", "m03.p1"); a name without a dot is a
// module of its own, whose scale is then found by size among the other lone tensors.
// Views and summaries must outlive the result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tensor_view.h"
#include "inspect/tensor_summary.h"

namespace trilith::inspect {

struct Part {
  std::string suffix;  // "weight_scale", "p1"; empty for a lone tensor
  const TensorView* tensor = nullptr;
  const TensorSummary* summary = nullptr;
};

struct StoredModule {
  std::string name;
  std::vector<Part> parts;
};

// Orders digit runs by their number: "m2" before "m10".
bool natural_less(std::string_view a, std::string_view b);
// In natural order of the names. `summaries` runs parallel to `tensors`.
std::vector<StoredModule> group_tensors(const std::vector<TensorView>& tensors,
                                        const std::vector<TensorSummary>& summaries);
// Names with every digit run replaced by {i} and how many tensors share each, for the report.
struct NameTemplate {
  std::string text;
  int64_t count = 0;
};
std::vector<NameTemplate> name_templates(const std::vector<TensorView>& tensors);

}  // namespace trilith::inspect
