#include "inspect/plain_profiles.h"

namespace trilith::inspect {

std::vector<ProfiledPlain> profile_plain(const std::vector<PlainModule>& modules,
                                         const IdsByName& ids, int64_t hidden) {
  std::vector<ProfiledPlain> result;
  for (const PlainModule& module : modules) {
    const TensorView& tensor = *module.weight->tensor;
    ProfiledPlain profiled;
    if (const auto id = ids.find(module.name); id != ids.end()) profiled.id = id->second;
    if (tensor.shape.size() == 1) {
      for (const float value : to_floats(tensor)) profiled.profile.push_back(value);
    } else if (tensor.shape.size() == 2 && tensor.shape[1] == hidden) {
      profiled.profile.assign(static_cast<size_t>(tensor.shape[1]), 0);
      const std::vector<float> values = to_floats(tensor);
      for (size_t i = 0; i < values.size(); ++i) {
        profiled.profile[i % profiled.profile.size()] +=
            static_cast<double>(values[i]) * static_cast<double>(values[i]);
      }
    }
    if (profiled.profile.size() > 1) result.push_back(std::move(profiled));
  }
  return result;
}

}  // namespace trilith::inspect
