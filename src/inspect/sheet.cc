#include "inspect/sheet.h"

#include <fmt/format.h>

#include <algorithm>

namespace trilith::inspect {
namespace {

constexpr size_t kMostLines = 5;  // of each kind in the summary

std::string share_text(const Sheet& sheet, size_t family) {
  double low = 1;
  double high = 0;
  for (const ModuleSheet& module : sheet.modules) {
    if (module.family != family) continue;
    low = std::min(low, module.zero_share);
    high = std::max(high, module.zero_share);
  }
  return low == high ? fmt::format("{:.3f}", low) : fmt::format("{:.3f} to {:.3f}", low, high);
}

std::string count_text(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void add_evidence(const FamilySheet& family, std::string& text) {
  for (const Evidence& entry : family.evidence) {
    if (entry.field != "law.slot_order" && entry.field != "code_table" &&
        entry.field != "law.stride" && entry.field != "scale.op" && entry.field != "digits.order") {
      continue;
    }
    if (entry.test == "zero code") continue;
    const std::string value =
        entry.value.as_string() != nullptr ? *entry.value.as_string() : entry.value.dump();
    text += fmt::format("    {:<16} {:<22} {} by {}", entry.field, value, status_name(entry.status),
                        entry.test);
    if (const auto lead = entry.numbers["lead_nats"].as_number()) {
      text += fmt::format(", {:.4g} nats ahead", *lead);
    }
    text += '\n';
  }
}

// What the file's bytes are for, largest part first.
void add_bytes(const Sheet& sheet, std::string& text) {
  std::map<std::string, uint64_t> parts;
  uint64_t total = 0;
  for (const ModuleSheet& module : sheet.modules) {
    for (const StoredInfo& part : module.stored) parts["packed " + part.role] += part.bytes;
  }
  for (const PlainSheet& plain : sheet.plain) {
    std::string role = "other";
    if (plain.is_bias) {
      role = "biases";
    } else if (plain.id) {
      role = model::is_norm(plain.id->role) ? "norms" : model::role_name(plain.id->role);
    }
    const Result<uint64_t> bytes = byte_count(plain.dtype, plain.shape);
    parts[role] += bytes.ok() ? *bytes : 0;
  }
  for (const auto& [role, bytes] : parts) total += bytes;
  if (total == 0) return;
  std::vector<std::pair<std::string, uint64_t>> ordered(parts.begin(), parts.end());
  std::ranges::stable_sort(ordered, std::greater{}, &std::pair<std::string, uint64_t>::second);
  text += fmt::format("bytes      {}\n", total);
  for (const auto& [role, bytes] : ordered) {
    text += fmt::format("    {:<16} {:>12} {:>5.1f} %\n", role, bytes,
                        100.0 * static_cast<double>(bytes) / static_cast<double>(total));
  }
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kIdentified:
      return "identified";
    case Verdict::kAmbiguous:
      return "ambiguous";
    case Verdict::kRefused:
      return "refused";
  }
  return "";
}

std::string_view status_name(Known status) {
  switch (status) {
    case Known::kAnnounced:
      return "announced";
    case Known::kInferred:
      return "inferred";
    case Known::kAssumed:
      return "assumed";
  }
  return "";
}

std::optional<ZeroBlocks> zero_blocks_of(const Sheet& sheet) {
  std::optional<ZeroBlocks> all;
  for (const ModuleSheet& module : sheet.modules) {
    if (!module.zero_blocks) continue;
    if (!all) all.emplace();
    all->add(*module.zero_blocks);
  }
  return all;
}

std::string summary(const Sheet& sheet) {
  std::string text = fmt::format("verdict    {}\n", verdict_name(sheet.verdict));
  if (!sheet.reason.empty()) text += fmt::format("reason     {}\n", sheet.reason);
  if (!sheet.container.empty()) {
    text += fmt::format("container  {}; {}\n", sheet.container,
                        sheet.announced
                            ? "quantisation announced: " +
                                  (sheet.framework.empty() ? "no method named" : sheet.framework)
                            : "no quantisation announced");
  }
  if (sheet.verdict == Verdict::kRefused) return text;
  for (size_t f = 0; f < std::min(sheet.families.size(), kMostLines); ++f) {
    const FamilySheet& family = sheet.families[f];
    text += fmt::format("packed     {}: {}\n", count_text(family.modules, "module"),
                        family.description);
    text += fmt::format("    {:<16} {}\n", "zero share", share_text(sheet, f));
    add_evidence(family, text);
    for (size_t i = 0; i < std::min(family.alternatives.size(), kMostLines); ++i) {
      text += fmt::format("    alternative      {}\n", family.alternatives[i].differs);
    }
    if (family.alternatives.size() > kMostLines) {
      text +=
          fmt::format("    …                {} more\n", family.alternatives.size() - kMostLines);
    }
  }
  if (!sheet.probe.lines.empty()) {
    text += fmt::format("probe      {} tokens; knowing nothing costs {:.3f} nats a token\n",
                        sheet.probe.tokens, sheet.probe.uniform_loss);
    for (size_t i = 0; i < std::min(sheet.probe.lines.size(), kMostLines); ++i) {
      text += fmt::format("    {:>8.3f}  {}\n", sheet.probe.lines[i].loss,
                          sheet.probe.lines[i].reading);
    }
  } else if (!sheet.probe.absent_because.empty()) {
    text += fmt::format("probe      none: {}\n", sheet.probe.absent_because);
  }
  text += fmt::format("plain      {}\n", count_text(sheet.plain.size(), "tensor"));
  add_bytes(sheet, text);
  for (const std::string& assumption : sheet.assumptions) {
    text += fmt::format("assumed    {}\n", assumption);
  }
  return text;
}

}  // namespace trilith::inspect
