#include "inspect/code_choices.h"

namespace trilith::inspect {

std::vector<CodeChoice> code_choices(const StoredClass& stored) {
  std::vector<CodeChoice> choices;
  const ClassModule& first = stored.modules.front();
  for (const std::string& suffix : first.code_parts) {
    const TensorView& tensor = *first.parts.at(suffix);
    std::vector<CandidateLaw> laws = word_laws(tensor.dtype);
    const std::vector<CandidateLaw> blocks = block_laws(tensor.dtype);
    laws.insert(laws.end(), blocks.begin(), blocks.end());
    const std::vector<CandidateLaw> named = named_block_laws(tensor.dtype);
    laws.insert(laws.end(), named.begin(), named.end());
    if (tensor.shape.size() == 3 && tensor.shape.front() <= 8) {
      laws = stacked_laws(tensor.dtype, static_cast<int>(tensor.shape.front()));
    }
    choices.emplace_back(std::vector{suffix}, std::move(laws));
  }
  for (const std::string& low : first.code_parts) {
    for (const std::string& high : first.code_parts) {
      const TensorView& a = *first.parts.at(low);
      const TensorView& b = *first.parts.at(high);
      if (low == high || a.dtype != b.dtype) continue;
      for (const auto& [x, y] : {std::pair{4, 2}, {4, 1}, {2, 1}, {2, 4}, {1, 4}, {1, 2}}) {
        if (a.bytes.size() * static_cast<size_t>(y) != b.bytes.size() * static_cast<size_t>(x)) {
          continue;
        }
        choices.push_back({{low, high}, plane_laws(a.dtype, {x, y})});
      }
      for (const std::string& top : first.code_parts) {
        const TensorView& c = *first.parts.at(top);
        if (c.bytes.size() * 4 == a.bytes.size() && b.bytes.size() * 2 == a.bytes.size() &&
            c.dtype == a.dtype) {
          choices.push_back({{low, high, top}, plane_laws(a.dtype, {4, 2, 1})});
        }
      }
    }
  }
  return choices;
}

}  // namespace trilith::inspect
