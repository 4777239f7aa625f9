#include "inspect/plain_profiles.h"

namespace trilith::inspect {

std::vector<ProfiledPlain> profile_plain(const std::vector<PlainModule>& modules,
                                         const IdsByName& ids, int64_t hidden) {
  std::vector<ProfiledPlain> result;
  for (const PlainModule& module : modules) {
    const TensorView& tensor = *module.weight->tensor;
    ProfiledPlain profiled;
    profiled.tensor = &tensor;
    if (const auto id = ids.find(module.name); id != ids.end()) profiled.id = id->second;
    if (tensor.shape.size() == 1) {
      for (const float value : to_floats(tensor)) profiled.profile.push_back(value);
    } else if (tensor.shape.size() == 2 && tensor.shape[1] == hidden) {
      profiled.profile.assign(static_cast<size_t>(tensor.shape[1]), 0);
      // Row by row: a large embedding as floats at once would be most of the memory used.
      TensorView row = tensor;
      row.shape = {1, hidden};
      const size_t bytes = dtype_size(tensor.dtype) * profiled.profile.size();
      for (size_t begin = 0; begin + bytes <= tensor.bytes.size(); begin += bytes) {
        row.bytes = tensor.bytes.subspan(begin, bytes);
        const std::vector<float> values = to_floats(row);
        for (size_t k = 0; k < values.size(); ++k) {
          profiled.profile[k] += static_cast<double>(values[k]) * static_cast<double>(values[k]);
        }
      }
    }
    if (profiled.profile.size() > 1) result.push_back(std::move(profiled));
  }
  return result;
}

}  // namespace trilith::inspect
