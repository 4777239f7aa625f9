#include <fmt/format.h>

#include <algorithm>

#include "inspect/sheet.h"
#include "inspect/sheet_text.h"

namespace trilith::inspect {
namespace {

constexpr size_t kMostAlignments = 8;

std::string code(std::string_view text) { return fmt::format("`{}`", text); }

void add_head(const Sheet& sheet, std::string& text) {
  text += "# Format sheet\n\n";
  text += fmt::format("**Verdict: {}.** {}\n\n", verdict_name(sheet.verdict), sheet.reason);
  text += "| what | value |\n| --- | --- |\n";
  text += fmt::format("| container | {} |\n", sheet.container);
  text += fmt::format("| architecture | {} ({}) |\n", sheet.architecture, sheet.model_type);
  text += fmt::format("| quantisation announced | {} |\n",
                      sheet.announced
                          ? (sheet.framework.empty() ? "yes, no method named" : sheet.framework)
                          : "no");
  text += fmt::format("| packed modules | {} |\n", sheet.modules.size());
  text += fmt::format("| plain tensors | {} |\n", sheet.plain.size());
  for (const std::string& assumption : sheet.assumptions) {
    text += fmt::format("| assumed by the user | {} |\n", code(assumption));
  }
  text += '\n';
}

void add_alignment(const FamilySheet& family, std::string& text) {
  if (family.alignment.empty()) return;
  text +=
      "Strongest alignments under this reading (mean rank correlation over the pairs of a "
      "kind):\n\n"
      "| profiles | pairs | mean rho | nats |\n| --- | --- | --- | --- |\n";
  for (size_t i = 0; i < std::min(family.alignment.size(), kMostAlignments); ++i) {
    const AlignmentLine& line = family.alignment[i];
    text +=
        fmt::format("| {} | {} | {:g} | {:g} |\n", line.what, line.pairs, line.mean_rho, line.nats);
  }
  text += '\n';
}

void add_family(const FamilySheet& family, std::string& text) {
  text += fmt::format("## {} modules: {}\n\n", family.modules, family.description);
  text += "| field | value | known | by | figures |\n| --- | --- | --- | --- | --- |\n";
  for (const Evidence& entry : family.evidence) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", entry.field,
                        entry.value.is_null() ? "" : code(plain_text(entry.value)),
                        status_name(entry.status), entry.test, figures(entry.numbers));
  }
  text += "\n";
  add_alignment(family, text);
  if (family.alternatives.empty()) {
    text += "No other reading is left.\n\n";
    return;
  }
  text += "Readings that remain:\n\n| differs in | why | matters |\n| --- | --- | --- |\n";
  for (const Alternative& alternative : family.alternatives) {
    text += fmt::format("| {} | {} | {} |\n", code(alternative.differs), alternative.why,
                        alternative.matters ? "yes" : "no");
  }
  text += '\n';
}

void add_example(const ModuleSheet& module, std::string& text) {
  const WorkedExample& example = module.example;
  text += fmt::format("### Worked example: {}\n\n", code(module.name));
  if (example.elements.empty()) return;
  text += "| byte | fields, lowest first | weights | codes | levels |";
  text += example.runner_up.empty() ? "\n" : " runner-up |\n";
  text += "| --- | --- | --- | --- | --- |";
  text += example.runner_up.empty() ? "\n" : " --- |\n";
  for (size_t i = 0; i < example.elements.size(); ++i) {
    text += fmt::format("| {:02x} | {} | {} | {} | {} |", example.bytes[i], example.fields[i],
                        example.elements[i], example.codes[i], example.levels[i]);
    if (!example.runner_up.empty() && i < example.runner_up_levels.size()) {
      text += fmt::format(" {}: {} |", example.runner_up_elements[i], example.runner_up_levels[i]);
    }
    text += '\n';
  }
  if (!example.runner_up.empty()) {
    text += fmt::format("\nThe runner-up differs in {}.\n", code(example.runner_up));
  }
  text += '\n';
}

void add_probe(const ProbeSheet& probe, std::string& text) {
  text += "## Probe\n\n";
  if (probe.lines.empty()) {
    text += fmt::format("None: {}.\n\n", probe.absent_because);
    return;
  }
  text += fmt::format(
      "Loss of the {} text ({} tokens) through the reference implementation; a model that knows "
      "nothing has {:.3f}.\n\n| reading | nats a token |\n| --- | --- |\n",
      probe.text_kind, probe.tokens, probe.uniform_loss);
  for (const ProbeLine& line : probe.lines) {
    text += fmt::format("| {} | {:.3f} |\n",
                        line.reading == "as chosen" ? line.reading : code(line.reading), line.loss);
  }
  text += '\n';
}

std::string place(const std::optional<model::ModuleId>& id) {
  return id ? code(model::module_name(*id)) : "unknown";
}

void add_modules(const Sheet& sheet, std::string& text) {
  text +=
      "## Modules\n\n| stored | module | shape | zero share | of rows | scale | unused codes |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ModuleSheet& module : sheet.modules) {
    std::string rows;
    if (module.row_zero_share) {
      rows =
          fmt::format("{:.4g} … {:.4g}", (*module.row_zero_share)[0], (*module.row_zero_share)[2]);
    }
    std::string scale;
    if (module.scale) {
      scale = fmt::format("{:.4g} … {:.4g} … {:.4g}", (*module.scale)[0], (*module.scale)[1],
                          (*module.scale)[2]);
    }
    text += fmt::format("| {} | {} | {}×{} | {:.4f} | {} | {} | {} |\n", code(module.name),
                        place(module.id), module.rows, module.cols, module.zero_share, rows, scale,
                        module.unused_count);
  }
  text += '\n';
}

void add_sparse_skip(const Sheet& sheet, std::string& text) {
  const auto blocks = zero_blocks_of(sheet);
  if (!blocks) return;
  const SparseSkip skip = judge_sparse_skip(*blocks);
  text += fmt::format("Skipping zeros: **{}**. {}.\n\n",
                      skip.verdict == "not_worth_it" ? "not worth it" : "not measured yet",
                      skip.reason);
}

std::string destination(const model::Destination& to) {
  return fmt::format("{} {}{}{}", code(to.name), to.op, to.shard.empty() ? "" : " ", to.shard);
}

void add_map(const Sheet& sheet, std::string& text) {
  text += "## Name map\n\n| stored | vLLM | transformers | GGUF |\n| --- | --- | --- | --- |\n";
  const auto line = [&](const std::string& name, const model::ModuleId& id) {
    text +=
        fmt::format("| {} | {} | {} | {} |\n", code(name), destination(model::vllm_destination(id)),
                    destination(model::transformers_destination(id)),
                    destination(model::gguf_destination(id, sheet.model_type)));
  };
  for (const ModuleSheet& module : sheet.modules) {
    if (module.id) line(module.name, *module.id);
  }
  for (const PlainSheet& tensor : sheet.plain) {
    if (tensor.id && !tensor.is_bias) line(tensor.name, *tensor.id);
  }
  text += '\n';
}

void add_plain(const Sheet& sheet, std::string& text) {
  text +=
      "## Plain tensors\n\n| stored | module | dtype | shape | least | greatest | distinct |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const PlainSheet& tensor : sheet.plain) {
    text += fmt::format("| {} | {} | {} | {} | {:.4g} | {:.4g} | {} |\n", code(tensor.name),
                        place(tensor.id), dtype_name(tensor.dtype), shape_string(tensor.shape),
                        tensor.min, tensor.max,
                        tensor.distinct > kDistinctLimit ? fmt::format("> {}", kDistinctLimit)
                                                         : std::to_string(tensor.distinct));
  }
}

}  // namespace

std::string to_markdown(const Sheet& sheet) {
  std::string text;
  add_head(sheet, text);
  if (sheet.verdict != Verdict::kRefused) {
    for (size_t f = 0; f < sheet.families.size(); ++f) {
      add_family(sheet.families[f], text);
      const auto first =
          std::find_if(sheet.modules.begin(), sheet.modules.end(),
                       [f](const ModuleSheet& module) { return module.family == f; });
      if (first != sheet.modules.end()) add_example(*first, text);
    }
    add_probe(sheet.probe, text);
    add_modules(sheet, text);
    add_sparse_skip(sheet, text);
    add_map(sheet, text);
  }
  add_plain(sheet, text);
  return text;
}

}  // namespace trilith::inspect
