#include "model/format_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace trilith::model {
namespace {

constexpr std::string_view kSchema = "trilith.sheet/1";
constexpr size_t kMaxEntries = size_t{1} << 17;
constexpr size_t kMaxStoredTensors = 16;
constexpr int64_t kMaxExtent = int64_t{1} << 24;

Error malformed(std::string_view where, std::string expected, const Json& found) {
  std::string shown =
      found.is_object() || found.is_array() ? std::string(found.type_name()) : found.dump();
  return Error::damaged(fmt::format("the format sheet is malformed at {}", where))
      .with_expected(std::move(expected))
      .with_found(std::move(shown));
}

Result<std::string> name_at(const Json& object, std::string_view key, std::string_view where) {
  const std::string* name = object[key].as_string();
  if (name == nullptr || name->empty()) {
    return malformed(fmt::format("{}.{}", where, key), "a name", object[key]);
  }
  return *name;
}

std::string_view without_suffix(std::string_view name, std::string_view suffix) {
  if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name;
}

// "role" with "layer"; nothing when the entry does not state a role.
Result<std::optional<ModuleId>> stated_id(const Json& entry, std::string_view where) {
  const Json& role_json = entry["role"];
  if (role_json.is_null()) return std::optional<ModuleId>();
  const std::string* role_text = role_json.as_string();
  const auto role = role_text != nullptr ? role_from_name(*role_text) : std::nullopt;
  if (!role) return malformed(fmt::format("{}.role", where), "a role such as q_proj", role_json);
  const Json& layer_json = entry["layer"];
  if (!is_in_layer(*role)) return std::optional(ModuleId{*role, -1});
  if (layer_json.is_null()) return std::optional<ModuleId>();
  const auto layer = layer_json.as_integer();
  if (!layer || *layer < 0 || *layer >= kMaxLayers) {
    return malformed(fmt::format("{}.layer", where), fmt::format("0 to {}", kMaxLayers - 1),
                     layer_json);
  }
  return std::optional(ModuleId{*role, *layer});
}

Result<std::optional<ModuleId>> id_of(const Json& entry, std::string_view where,
                                      const std::string& name) {
  TRILITH_ASSIGN_OR_RETURN(const std::optional<ModuleId> stated, stated_id(entry, where));
  if (stated) return stated;
  const std::string* mapped = entry["map"]["transformers"]["name"].as_string();
  return module_from_name(without_suffix(mapped != nullptr ? *mapped : name, ".weight"));
}

Result<ModuleFormat> module_from(const Json& entry, std::string_view where) {
  ModuleFormat module;
  TRILITH_ASSIGN_OR_RETURN(module.name, name_at(entry, "name", where));
  const auto* shape = entry["shape"].as_array();
  const auto extent = [&](size_t i) {
    const auto value =
        shape != nullptr && shape->size() == 2 ? (*shape)[i].as_integer() : std::nullopt;
    return value && *value >= 1 && *value <= kMaxExtent ? *value : 0;
  };
  module.rows = extent(0);
  module.cols = extent(1);
  if (module.rows == 0 || module.cols == 0) {
    return malformed(fmt::format("{}.shape", where),
                     fmt::format("[N, K], each from 1 to {}", kMaxExtent), entry["shape"]);
  }
  const auto* stored = entry["stored"].as_object();
  if (stored == nullptr || stored->empty() || stored->size() > kMaxStoredTensors) {
    return malformed(fmt::format("{}.stored", where), "an object of role to tensor",
                     entry["stored"]);
  }
  for (const auto& [role, tensor] : *stored) {
    const std::string place = fmt::format("{}.stored.{}", where, role);
    TRILITH_ASSIGN_OR_RETURN(module.stored[role], name_at(tensor, "name", place));
  }
  auto spec = packing::spec_from_json(entry["spec"]);
  if (!spec.ok()) {
    Error error = std::move(spec).error();
    // On a command line a bad spec is a wrong call; in a file it is damage.
    if (error.kind == ErrorKind::kUsage) error.kind = ErrorKind::kDamaged;
    return std::move(error).with_context(fmt::format("the format sheet, {}.spec", where));
  }
  module.spec = std::move(spec).value();
  return module;
}

Result<const Json::Array*> entries_of(const Json& sheet, std::string_view key) {
  static const Json::Array kNone;
  const Json& json = sheet[key];
  if (json.is_null()) return &kNone;
  const auto* entries = json.as_array();
  if (entries == nullptr || entries->size() > kMaxEntries) {
    return malformed(key, fmt::format("an array of at most {} entries", kMaxEntries), json);
  }
  return entries;
}

Status read_modules(const Json& sheet, FormatSheet& result) {
  TRILITH_ASSIGN_OR_RETURN(const Json::Array* entries, entries_of(sheet, "modules"));
  std::set<std::string> seen;
  bool agree = true;
  for (size_t i = 0; i < entries->size(); ++i) {
    const Json& entry = (*entries)[i];
    const std::string where = fmt::format("modules[{}]", i);
    TRILITH_ASSIGN_OR_RETURN(ModuleFormat module, module_from(entry, where));
    TRILITH_ASSIGN_OR_RETURN(const auto id, id_of(entry, where, module.name));
    if (!id) continue;
    module.id = *id;
    if (!seen.insert(module_name(*id)).second) {
      return malformed(where, "every module once", Json(module_name(*id)));
    }
    if (result.modules.empty()) result.activation = entry["activation"];
    agree = agree && result.activation == entry["activation"];
    result.modules.push_back(std::move(module));
  }
  if (!agree) result.activation = Json();
  return {};
}

Status read_plain(const Json& sheet, FormatSheet& result) {
  TRILITH_ASSIGN_OR_RETURN(const Json::Array* entries, entries_of(sheet, "plain"));
  for (size_t i = 0; i < entries->size(); ++i) {
    const Json& entry = (*entries)[i];
    const std::string where = fmt::format("plain[{}]", i);
    TRILITH_ASSIGN_OR_RETURN(const std::string name, name_at(entry, "name", where));
    std::string key;
    if (!entry["module"].is_null()) {
      TRILITH_ASSIGN_OR_RETURN(key, name_at(entry, "module", where));
      if (!module_from_name(without_suffix(key, ".bias"))) {
        return malformed(where + ".module", "a module such as model.norm", entry["module"]);
      }
    } else if (name.ends_with(".bias") && entry["role"].is_null()) {
      if (!module_from_name(without_suffix(name, ".bias"))) continue;
      key = name;
    } else {
      TRILITH_ASSIGN_OR_RETURN(const auto id, id_of(entry, where, name));
      if (!id) continue;
      key = module_name(*id);
    }
    if (!result.plain.emplace(key, name).second) {
      return malformed(where, "every module once", Json(key));
    }
  }
  return {};
}

Status check_verdict(const Json& sheet) {
  if (!sheet.is_object()) return malformed("its top", "an object", sheet);
  const std::string* schema = sheet["schema"].as_string();
  if (schema == nullptr || *schema != kSchema) {
    return Error::unsupported("this is no format sheet of a schema that is read")
        .with_expected(fmt::format("\"schema\": \"{}\"", kSchema))
        .with_found(sheet["schema"].dump())
        .with_hint("write one with `trilith inspect PATH --save`");
  }
  if (sheet["verdict"].is_null()) return {};
  const std::string* verdict = sheet["verdict"].as_string();
  const std::string* reason = sheet["reason"].as_string();
  if (verdict != nullptr && *verdict == "identified") return {};
  const std::string why = reason != nullptr ? ": " + *reason : "";
  if (verdict != nullptr && *verdict == "ambiguous") {
    return Error::ambiguous("the format sheet leaves open how the weights are to be read" + why)
        .with_hint("decide with `trilith inspect PATH --assume FIELD=VALUE --save`");
  }
  if (verdict != nullptr && *verdict == "refused") {
    return Error::unsupported("the format sheet says that the weights were not understood" + why);
  }
  return malformed("verdict", "identified, ambiguous or refused", sheet["verdict"]);
}

}  // namespace

const ModuleFormat* FormatSheet::find(const ModuleId& id) const {
  const auto found = std::ranges::find(modules, id, &ModuleFormat::id);
  return found != modules.end() ? &*found : nullptr;
}

Result<FormatSheet> format_sheet_from_json(const Json& sheet) {
  TRILITH_RETURN_IF_ERROR(check_verdict(sheet));
  FormatSheet result;
  TRILITH_RETURN_IF_ERROR(read_modules(sheet, result));
  TRILITH_RETURN_IF_ERROR(read_plain(sheet, result));
  return result;
}

Result<FormatSheet> read_format_sheet(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const Json json, read_json_file(path));
  auto sheet = format_sheet_from_json(json);
  if (!sheet.ok()) return std::move(sheet).error().with_file(path);
  return sheet;
}

Json to_json(const FormatSheet& sheet) {
  Json::Array modules;
  for (const ModuleFormat& module : sheet.modules) {
    Json stored = Json::object();
    for (const auto& [role, name] : module.stored) {
      stored.set(role, Json::object({{"name", name}}));
    }
    Json entry = Json::object({{"name", module.name}, {"role", role_name(module.id.role)}});
    if (module.id.layer >= 0) entry.set("layer", module.id.layer);
    entry.set("shape", Json(Json::Array{module.rows, module.cols}));
    entry.set("stored", std::move(stored));
    entry.set("spec", packing::to_json(module.spec));
    if (!sheet.activation.is_null()) entry.set("activation", sheet.activation);
    modules.push_back(std::move(entry));
  }
  Json::Array plain;
  for (const auto& [module, name] : sheet.plain) {
    plain.push_back(Json::object({{"name", name}, {"module", module}}));
  }
  return Json::object({{"schema", kSchema},
                       {"verdict", "identified"},
                       {"modules", Json(std::move(modules))},
                       {"plain", Json(std::move(plain))}});
}

Result<packing::TensorsByRole> module_tensors(const checkpoint::Checkpoint& checkpoint,
                                              const ModuleFormat& module) {
  packing::TensorsByRole tensors;
  for (const auto& [role, name] : module.stored) {
    const TensorView* tensor = checkpoint.find(name);
    if (tensor == nullptr) {
      return Error::damaged(fmt::format("the checkpoint lacks this tensor, '{}' of {}", role,
                                        module_name(module.id)))
          .with_file(checkpoint.folder())
          .with_tensor(name)
          .with_hint("the format sheet may belong to another checkpoint");
    }
    tensors[role] = *tensor;
  }
  return tensors;
}

}  // namespace trilith::model
