#include "inspect/plane_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "inspect/decision.h"

namespace trilith::inspect {
namespace {

using packing::PlaneRole;

// A name is the writer's word: more than a close call between statistics.
constexpr double kNamed = 20;

struct Word {
  std::string_view text;
  PlaneRole role;
};

// In the order in which they are looked for: a "sign mask" is a plane of signs, a "pos mask" one of
// positive weights.
constexpr std::array kWords = {
    Word{"pos", PlaneRole::kPositive},      Word{"positive", PlaneRole::kPositive},
    Word{"plus", PlaneRole::kPositive},     Word{"neg", PlaneRole::kNegative},
    Word{"negative", PlaneRole::kNegative}, Word{"minus", PlaneRole::kNegative},
    Word{"sign", PlaneRole::kSign},         Word{"signs", PlaneRole::kSign},
    Word{"nonzero", PlaneRole::kNonzero},   Word{"nz", PlaneRole::kNonzero},
    Word{"mask", PlaneRole::kNonzero},      Word{"masks", PlaneRole::kNonzero},
};

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalpha(byte) != 0) {
      if (std::isupper(byte) != 0 && !words.back().empty()) words.emplace_back();
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

std::optional<PlaneRole> role_of(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  for (const Word& word : kWords) {
    if (std::find(words.begin(), words.end(), word.text) != words.end()) return word.role;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<PlaneRole>> plane_roles_by_name(std::string_view first,
                                                          std::string_view second) {
  // What both names begin with is the module's.
  const auto [a, b] = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  const auto common = static_cast<size_t>(a - first.begin());
  const size_t start = first.substr(0, common).find_last_of("._/");
  const size_t from = start == std::string_view::npos ? 0 : start + 1;
  const auto one = role_of(first.substr(from));
  const auto other = role_of(second.substr(from));
  if (!one || !other) return std::nullopt;
  const auto is_pair = [&](PlaneRole x, PlaneRole y) {
    return (*one == x && *other == y) || (*one == y && *other == x);
  };
  if (!is_pair(PlaneRole::kPositive, PlaneRole::kNegative) &&
      !is_pair(PlaneRole::kSign, PlaneRole::kNonzero)) {
    return std::nullopt;
  }
  return std::vector{*one, *other};
}

void weigh_plane_names(FamilySearch& family) {
  const PackedModule& module =
      family.arrangements[family.readings.front().arrangement].modules.front();
  const auto first = module.stored.find("codes");
  const auto second = module.stored.find("codes_1");
  if (first == module.stored.end() || second == module.stored.end()) return;
  const auto roles = plane_roles_by_name(first->second->name, second->second->name);
  if (!roles) return;
  for (Reading& reading : family.readings) {
    if (reading.hypothesis.spec.planes == *roles) reading.hypothesis.add("names", kNamed);
  }
  rank(family.readings, std::nullopt);
}

}  // namespace trilith::inspect
