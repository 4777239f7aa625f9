#include "kernels/registry.h"

#include <cstdlib>
#include <iterator>
#include <mutex>
#include <optional>

namespace trilith::kernels {
namespace {

struct Entry {
  std::string_view name;
  bool (*runs_on)(const CpuFeatures&);
  void (*override_with)(KernelSet*);  // null: the scalar set itself
};

// Weakest first. A new instruction set is one line here, its files and its flags in CMakeLists.txt.
constexpr Entry kEntries[] = {
    {"scalar", [](const CpuFeatures&) { return true; }, nullptr},
#ifdef TRILITH_KERNELS_AVX2
    {"avx2", [](const CpuFeatures& cpu) { return cpu.avx2; }, override_with_avx2},
#endif
};
constexpr size_t kEntryCount = std::size(kEntries);

struct CheckedSet {
  KernelSet set;
  Status status;
};

const CheckedSet& checked_set(size_t index) {
  static const auto make = [](size_t i) {
    CheckedSet checked{scalar_kernels, {}};
    if (kEntries[i].override_with != nullptr) {
      kEntries[i].override_with(&checked.set);
      checked.status = check_against_scalar(checked.set);
    }
    return checked;
  };
  // Built when first asked for: an override may not even be looked at on a processor without it.
  static std::once_flag once[kEntryCount];
  static std::optional<CheckedSet> sets[kEntryCount];
  std::call_once(once[index], [&] { sets[index] = make(index); });
  return *sets[index];
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::string> available_sets(const CpuFeatures& cpu) {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) {
    if (entry.runs_on(cpu)) names.emplace_back(entry.name);
  }
  return names;
}

Result<const KernelSet*> choose_kernels(std::string_view name, const CpuFeatures& cpu) {
  std::string wanted(name);
  std::string origin = "the instruction set";
  if (wanted.empty()) {
    if (const char* forced = std::getenv("TRILITH_ISA"); forced != nullptr && *forced != '\0') {
      wanted = forced;
      origin = "TRILITH_ISA";
    }
  }
  size_t chosen = kEntryCount;
  for (size_t i = 0; i < kEntryCount; ++i) {
    if (wanted.empty() ? kEntries[i].runs_on(cpu) : kEntries[i].name == wanted) chosen = i;
  }
  if (chosen == kEntryCount) {
    return Error::usage(origin + " names '" + wanted + "', which this build does not have")
        .with_expected(joined(available_sets(cpu)));
  }
  if (!kEntries[chosen].runs_on(cpu)) {
    return Error::usage(origin + " asks for '" + wanted + "', which this processor lacks")
        .with_expected(joined(available_sets(cpu)));
  }
  const CheckedSet& checked = checked_set(chosen);
  if (!checked.status.ok()) return checked.status.error();
  return &checked.set;
}

}  // namespace trilith::kernels
