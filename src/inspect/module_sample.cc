#include "inspect/module_sample.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace trilith::inspect {
namespace {

using Group = std::vector<size_t>;

int64_t weights_of(const std::vector<PackedModule>& modules, const Group& group) {
  return std::accumulate(group.begin(), group.end(), int64_t{0}, [&](int64_t sum, size_t m) {
    return sum + modules[m].rows * modules[m].cols;
  });
}

// First, last, second, last but one, …
std::vector<Group> from_both_ends(std::vector<Group> groups) {
  std::vector<Group> result;
  for (size_t i = 0, j = groups.size(); i < j;) {
    result.push_back(std::move(groups[i++]));
    if (i < j) result.push_back(std::move(groups[--j]));
  }
  return result;
}

std::vector<Group> by_layer(const std::vector<PackedModule>& modules) {
  std::map<int64_t, Group> layers;
  for (size_t m = 0; m < modules.size(); ++m) {
    layers[modules[m].id ? modules[m].id->layer : -1].push_back(m);
  }
  std::vector<Group> groups;
  for (auto& [layer, group] : layers) groups.push_back(std::move(group));
  return from_both_ends(std::move(groups));
}

// The first module of every shape, then the second of every shape, …
std::vector<Group> by_shape(const std::vector<PackedModule>& modules) {
  std::map<std::pair<int64_t, int64_t>, size_t> seen;
  std::vector<Group> groups;
  for (size_t m = 0; m < modules.size(); ++m) {
    const size_t turn = seen[{modules[m].rows, modules[m].cols}]++;
    if (turn == groups.size()) groups.emplace_back();
    groups[turn].push_back(m);
  }
  return groups;
}

}  // namespace

std::vector<size_t> sample_modules(const std::vector<PackedModule>& modules, int64_t most) {
  Group all(modules.size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (weights_of(modules, all) <= most) return all;
  const bool known = std::all_of(modules.begin(), modules.end(), [](const PackedModule& module) {
    return module.id && module.id->layer >= 0;
  });
  Group sample;
  int64_t weights = 0;
  for (const Group& group : known ? by_layer(modules) : by_shape(modules)) {
    if (weights >= most) break;
    sample.insert(sample.end(), group.begin(), group.end());
    weights += weights_of(modules, group);
  }
  std::sort(sample.begin(), sample.end());
  return sample;
}

}  // namespace trilith::inspect
