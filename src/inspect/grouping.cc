#include "inspect/grouping.h"

#include <algorithm>
#include <map>

namespace trilith::inspect {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

// The digits that start at `position`, without leading zeros; advances past them.
std::string_view take_number(std::string_view text, size_t& position) {
  while (position + 1 < text.size() && text[position] == '0' && is_digit(text[position + 1])) {
    ++position;
  }
  const size_t begin = position;
  while (position < text.size() && is_digit(text[position])) ++position;
  return text.substr(begin, position - begin);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = take_number(a, i);
      const std::string_view y = take_number(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // equal up to leading zeros
}

std::vector<StoredModule> group_tensors(const std::vector<TensorView>& tensors,
                                        const std::vector<TensorSummary>& summaries) {
  std::map<std::string, std::vector<Part>, NaturalOrder> groups;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].name;
    const size_t dot = name.rfind('.');
    const bool lone = dot == std::string::npos;
    Part part{lone ? std::string() : name.substr(dot + 1), &tensors[i], &summaries[i]};
    groups[lone ? name : name.substr(0, dot)].push_back(std::move(part));
  }
  std::vector<StoredModule> modules;
  for (auto& [name, parts] : groups) modules.push_back({name, std::move(parts)});
  return modules;
}

std::vector<NameTemplate> name_templates(const std::vector<TensorView>& tensors) {
  std::map<std::string, int64_t> counts;
  for (const TensorView& tensor : tensors) {
    std::string text;
    for (size_t i = 0; i < tensor.name.size();) {
      if (is_digit(tensor.name[i])) {
        while (i < tensor.name.size() && is_digit(tensor.name[i])) ++i;
        text += "{i}";
      } else {
        text += tensor.name[i++];
      }
    }
    ++counts[text];
  }
  std::vector<NameTemplate> templates;
  for (const auto& [text, count] : counts) templates.push_back({text, count});
  return templates;
}

}  // namespace trilith::inspect
