#include "inspect/stored_class.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace trilith::inspect {
namespace {

constexpr size_t kFewestBytes = 128;

bool is_small_float(DType dtype) { return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2; }

// What modules of one class agree in.
using Signature = std::vector<std::pair<std::string, DType>>;

Signature signature_of(const StoredModule& module) {
  Signature signature;
  for (const Part& part : module.parts) signature.emplace_back(part.suffix, part.tensor->dtype);
  std::sort(signature.begin(), signature.end());
  return signature;
}

// A text (the JSON of a quantiser's state) is no tensor of codes.
bool is_text(const TensorView& tensor) {
  if (tensor.dtype != DType::kU8 || tensor.shape.size() != 1) return false;
  return std::all_of(tensor.bytes.begin(), tensor.bytes.end(), [](std::byte byte) {
    const auto c = static_cast<unsigned char>(byte);
    return (c >= 32 && c < 127) || c == '\n' || c == '\t';
  });
}

}  // namespace

bool may_be_codes(const Part& part) {
  const TensorView& tensor = *part.tensor;
  if (!is_integer(tensor.dtype) && !is_small_float(tensor.dtype)) return false;
  if (tensor.bytes.size() < kFewestBytes || is_text(tensor)) return false;
  return !part.summary->counting && part.summary->distinct > 1;
}

std::vector<StoredClass> classify(const std::vector<StoredModule>& modules) {
  std::vector<StoredClass> classes;
  std::vector<Signature> signatures;
  bool any_pair = false;
  for (const StoredModule& module : modules) {
    any_pair = any_pair || (module.parts.size() > 1 &&
                            std::any_of(module.parts.begin(), module.parts.end(), may_be_codes));
  }
  std::vector<const TensorView*> loose;
  for (const StoredModule& module : modules) {
    for (const Part& part : module.parts) loose.push_back(part.tensor);
  }
  for (const StoredModule& module : modules) {
    if (std::none_of(module.parts.begin(), module.parts.end(), may_be_codes)) continue;
    const Signature signature = signature_of(module);
    const auto known = std::find(signatures.begin(), signatures.end(), signature);
    const auto index = static_cast<size_t>(known - signatures.begin());
    if (known == signatures.end()) {
      signatures.push_back(signature);
      classes.emplace_back();
      classes.back().lone = !any_pair;
      if (!any_pair) classes.back().loose = loose;
    }
    ClassModule entry{module.name, {}, {}};
    for (const Part& part : module.parts) {
      entry.parts[part.suffix] = part.tensor;
      if (may_be_codes(part)) entry.code_parts.push_back(part.suffix);
    }
    classes[index].modules.push_back(std::move(entry));
  }
  return classes;
}

}  // namespace trilith::inspect
