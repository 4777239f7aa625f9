#include "inspect/sheet_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace trilith::inspect {
namespace {

constexpr std::array<std::string_view, 5> kHead{"verdict", "container", "architecture",
                                                "model_type", "transformers_class"};
constexpr std::array<std::string_view, 9> kOfModule{
    "role", "layer", "shape", "spec", "zero_share", "codes", "unused_codes", "scale", "activation"};
constexpr std::array<std::string_view, 3> kOfPlain{"dtype", "shape", "role"};

class Differ {
 public:
  void compare(const std::string& where, const Json& first, const Json& second) {
    const bool nested = first.is_object() && second.is_object();
    if (!nested) {
      if (first != second) differences_.push_back({where, first, second});
      return;
    }
    for (const auto& [name, value] : *first.as_object()) {
      compare(where + "." + name, value, second[name]);
    }
    for (const auto& [name, value] : *second.as_object()) {
      if (first[name].is_null() && !value.is_null()) {
        differences_.push_back({where + "." + name, Json(), value});
      }
    }
  }

  // Lists of objects by their "name".
  template <size_t kFields>
  void compare_named(const char* kind, const Json& first, const Json& second,
                     const std::array<std::string_view, kFields>& fields) {
    const auto of_first = by_name(first);
    const auto of_second = by_name(second);
    for (const auto& [name, entry] : of_first) {
      const auto other = of_second.find(name);
      if (other == of_second.end()) {
        differences_.push_back({fmt::format("{}: {}", name, kind), Json("present"), Json()});
        continue;
      }
      for (const std::string_view field : fields) {
        compare(fmt::format("{}: {}", name, field), (*entry)[field], (*other->second)[field]);
      }
    }
    for (const auto& [name, entry] : of_second) {
      if (of_first.contains(name)) continue;
      differences_.push_back({fmt::format("{}: {}", name, kind), Json(), Json("present")});
    }
  }

  std::vector<SheetDifference> take() { return std::move(differences_); }

 private:
  static std::map<std::string, const Json*> by_name(const Json& list) {
    std::map<std::string, const Json*> entries;
    if (list.as_array() == nullptr) return entries;
    for (const Json& entry : *list.as_array()) {
      if (const std::string* name = entry["name"].as_string()) entries[*name] = &entry;
    }
    return entries;
  }

  std::vector<SheetDifference> differences_;
};

Status check_is_sheet(const Json& json, const char* which) {
  const std::string* const schema = json["schema"].as_string();
  if (schema != nullptr && *schema == "trilith.sheet/1") return {};
  return Error::damaged(fmt::format("the {} is no format sheet", which))
      .with_expected("schema trilith.sheet/1")
      .with_found(schema != nullptr ? *schema : "no schema");
}

std::string text_of(const Json& value) {
  if (value.is_null()) return "nothing";
  constexpr size_t kLongest = 100;
  std::string text = value.as_string() != nullptr ? *value.as_string() : value.dump();
  if (text.size() <= kLongest) return text;
  size_t end = kLongest;  // not inside a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("{}…", text.substr(0, end));
}

}  // namespace

Result<std::vector<SheetDifference>> diff_sheets(const Json& first, const Json& second) {
  TRILITH_RETURN_IF_ERROR(check_is_sheet(first, "first"));
  TRILITH_RETURN_IF_ERROR(check_is_sheet(second, "second"));
  Differ differ;
  for (const std::string_view field : kHead) {
    differ.compare(std::string(field), first[field], second[field]);
  }
  differ.compare_named("packed module", first["modules"], second["modules"], kOfModule);
  differ.compare_named("plain tensor", first["plain"], second["plain"], kOfPlain);
  return differ.take();
}

Json diff_json(const std::vector<SheetDifference>& differences) {
  Json::Array list;
  for (const SheetDifference& difference : differences) {
    list.push_back(Json::object(
        {{"where", difference.where}, {"first", difference.first}, {"second", difference.second}}));
  }
  Json json = Json::object({{"schema", "trilith.sheet-diff/1"}, {"same", differences.empty()}});
  json.set("differences", Json(std::move(list)));
  return json;
}

std::string diff_text(const std::vector<SheetDifference>& differences) {
  if (differences.empty()) return "the sheets say the same\n";
  std::vector<std::pair<std::string, size_t>> lines;
  std::map<std::string, size_t> place;
  for (const SheetDifference& difference : differences) {
    // Modules of one kind differ alike: the name of the first stands for all.
    const size_t colon = difference.where.rfind(": ");
    const std::string field =
        colon == std::string::npos ? difference.where : difference.where.substr(colon + 2);
    const std::string what =
        fmt::format("{}: {} | {}", field, text_of(difference.first), text_of(difference.second));
    const auto [known, fresh] = place.emplace(what, lines.size());
    if (fresh) {
      const std::string name =
          colon == std::string::npos ? "" : difference.where.substr(0, colon) + "  ";
      lines.emplace_back(fmt::format("{}{}", name, what), 0);
    }
    ++lines[known->second].second;
  }
  std::string text;
  for (const auto& [line, count] : lines) {
    text += count == 1 ? fmt::format("{}\n", line)
                       : fmt::format("{}  (and {} more alike)\n", line, count - 1);
  }
  return text;
}

}  // namespace trilith::inspect
