#include <fmt/format.h>

#include "inspect/sheet.h"

namespace trilith::inspect {
namespace {

Json evidence_json(const std::vector<Evidence>& evidence) {
  Json::Array list;
  for (const Evidence& entry : evidence) {
    Json json = Json::object({{"field", entry.field},
                              {"status", status_name(entry.status)},
                              {"test", entry.test},
                              {"value", entry.value}});
    json.set("numbers", entry.numbers.is_null() ? Json::object() : entry.numbers);
    list.push_back(std::move(json));
  }
  return Json(std::move(list));
}

Json destination(const model::Destination& to) {
  return Json::object({{"name", to.name}, {"op", to.op}, {"shard", to.shard}});
}

Json map_json(const std::optional<model::ModuleId>& id, const std::string& model_type) {
  if (!id) return Json();
  return Json::object({{"vllm", destination(model::vllm_destination(*id))},
                       {"transformers", destination(model::transformers_destination(*id))},
                       {"gguf", destination(model::gguf_destination(*id, model_type))}});
}

void set_id(Json& json, const model::ModuleId& id) {
  json.set("role", model::role_name(id.role));
  if (id.layer >= 0) json.set("layer", id.layer);
}

Json example_json(const WorkedExample& example) {
  Json::Array bytes;
  for (const uint8_t byte : example.bytes) bytes.emplace_back(fmt::format("{:02x}", byte));
  Json json = Json::object({{"bytes", Json(std::move(bytes))},
                            {"fields", Json::array(example.fields)},
                            {"elements", Json::array(example.elements)},
                            {"codes", Json::array(example.codes)},
                            {"levels", Json::array(example.levels)}});
  if (!example.runner_up.empty()) {
    json.set("runner_up", Json::object({{"differs", example.runner_up},
                                        {"elements", Json::array(example.runner_up_elements)},
                                        {"levels", Json::array(example.runner_up_levels)}}));
  }
  return json;
}

Json zero_blocks_json(const ZeroBlocks& blocks) {
  return Json::object({{"rows", kZeroBlockRows},
                       {"cols", kZeroBlockCols},
                       {"count", blocks.count},
                       {"zero", blocks.zero},
                       {"share", blocks.share()},
                       {"expected_share", blocks.expected_share()}});
}

Json module_json(const ModuleSheet& module, const FamilySheet& family,
                 const std::string& model_type) {
  Json stored = Json::object();
  for (const StoredInfo& part : module.stored) {
    stored.set(part.role, Json::object({{"name", part.name},
                                        {"dtype", dtype_name(part.dtype)},
                                        {"shape", Json::array(part.shape)},
                                        {"bytes", part.bytes}}));
  }
  std::vector<Evidence> evidence = module.evidence;
  evidence.insert(evidence.end(), family.evidence.begin(), family.evidence.end());
  Json::Array alternatives;
  for (const Alternative& alternative : family.alternatives) {
    alternatives.push_back(Json::object({{"spec", packing::to_json(alternative.spec)},
                                         {"differs", alternative.differs},
                                         {"why_indistinguishable", alternative.why},
                                         {"matters", alternative.matters}}));
  }
  Json json = Json::object({{"name", module.name}});
  if (module.id) {
    set_id(json, *module.id);
    json.set("module", model::module_name(*module.id));
  }
  json.set("shape", Json::array(std::vector<int64_t>{module.rows, module.cols}));
  json.set("stored", std::move(stored));
  json.set("spec", packing::to_json(module.spec));
  json.set("evidence", evidence_json(evidence));
  json.set("alternatives", Json(std::move(alternatives)));
  json.set("zero_share", module.zero_share);
  if (module.row_zero_share) {
    const auto& [low, middle, high] = *module.row_zero_share;
    json.set("row_zero_share", Json::object({{"min", low}, {"median", middle}, {"max", high}}));
  }
  if (module.zero_blocks) json.set("zero_blocks", zero_blocks_json(*module.zero_blocks));
  Json::Array codes;
  for (const CodeCount& entry : module.code_counts) {
    codes.push_back(Json::object({{"code", entry.code},
                                  {"level", entry.level ? Json(*entry.level) : Json()},
                                  {"count", entry.count}}));
  }
  json.set("codes", Json(std::move(codes)));
  json.set("unused_codes",
           Json::object({{"count", module.unused_count},
                         {"where", module.unused_first < 0 ? Json() : Json(module.unused_first)}}));
  if (module.scale) {
    const auto& [low, middle, high] = *module.scale;
    json.set("scale", Json::object({{"min", low}, {"median", middle}, {"max", high}}));
  }
  json.set("activation", module.activation);
  json.set("worked_example", example_json(module.example));
  json.set("map", map_json(module.id, model_type));
  return json;
}

Json sparse_skip_json(const ZeroBlocks& blocks) {
  const SparseSkip skip = judge_sparse_skip(blocks);
  Json json = zero_blocks_json(blocks);
  json.set("verdict", skip.verdict);
  json.set("never_below", kNeverPaysBelow);
  json.set("break_even", Json());
  json.set("reason", skip.reason);
  return json;
}

Json plain_json(const PlainSheet& tensor) {
  Json json = Json::object({{"name", tensor.name},
                            {"dtype", dtype_name(tensor.dtype)},
                            {"shape", Json::array(tensor.shape)},
                            {"min", tensor.min},
                            {"max", tensor.max}});
  json.set("distinct", tensor.distinct > kDistinctLimit
                           ? Json(fmt::format("more than {}", kDistinctLimit))
                           : Json(tensor.distinct));
  json.set("nan", tensor.nan);
  if (tensor.id && !tensor.is_bias) set_id(json, *tensor.id);
  if (tensor.id) {
    json.set("role_status", status_name(tensor.id_known));
    json.set("module", model::module_name(*tensor.id) + (tensor.is_bias ? ".bias" : ""));
  }
  return json;
}

Json probe_json(const ProbeSheet& probe) {
  if (probe.lines.empty()) return Json::object({{"absent_because", probe.absent_because}});
  Json::Array lines;
  for (const ProbeLine& line : probe.lines) {
    lines.push_back(Json::object({{"reading", line.reading}, {"loss", line.loss}}));
  }
  return Json::object({{"text", probe.text_kind},
                       {"tokens", probe.tokens},
                       {"uniform_loss", probe.uniform_loss},
                       {"losses", Json(std::move(lines))}});
}

// What the modules packed alike have in common, once.
Json families_json(const Sheet& sheet) {
  Json::Array families;
  for (const FamilySheet& family : sheet.families) {
    Json::Array alignment;
    for (const AlignmentLine& line : family.alignment) {
      alignment.push_back(Json::object({{"profiles", line.what},
                                        {"pairs", line.pairs},
                                        {"mean_rho", line.mean_rho},
                                        {"nats", line.nats}}));
    }
    families.push_back(Json::object({{"description", family.description},
                                     {"modules", family.modules},
                                     {"alignment", Json(std::move(alignment))}}));
  }
  return Json(std::move(families));
}

}  // namespace

Json to_json(const Sheet& sheet) {
  Json json = Json::object({{"schema", "trilith.sheet/1"},
                            {"verdict", verdict_name(sheet.verdict)},
                            {"reason", sheet.reason},
                            {"container", sheet.container},
                            {"architecture", sheet.architecture},
                            {"model_type", sheet.model_type},
                            {"transformers_class", sheet.architecture}});
  json.set("quantization_config",
           Json::object({{"present", sheet.announced},
                         {"framework", sheet.framework.empty() ? Json() : Json(sheet.framework)}}));
  Json::Array templates;
  for (const NameTemplate& entry : sheet.templates) {
    templates.push_back(Json::object({{"template", entry.text}, {"count", entry.count}}));
  }
  json.set("name_templates", Json(std::move(templates)));
  json.set("assumptions", Json::array(sheet.assumptions));
  json.set("probe", probe_json(sheet.probe));
  json.set("families", families_json(sheet));
  if (const auto blocks = zero_blocks_of(sheet)) {
    json.set("sparse_skip", sparse_skip_json(*blocks));
  }
  Json::Array modules;
  for (const ModuleSheet& module : sheet.modules) {
    modules.push_back(module_json(module, sheet.families[module.family], sheet.model_type));
  }
  json.set("modules", Json(std::move(modules)));
  Json::Array plain;
  for (const PlainSheet& tensor : sheet.plain) plain.push_back(plain_json(tensor));
  json.set("plain", Json(std::move(plain)));
  return json;
}

}  // namespace trilith::inspect
