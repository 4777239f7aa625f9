#include <fmt/format.h>

#include <cstdio>

#include "base/cpu_features.h"
#include "base/output_file.h"
#include "cli/verb.h"

namespace trilith::cli {
namespace {

Json describe_machine() {
  const CpuFeatures& cpu = cpu_features();
  Json report = Json::object({{"schema", "trilith.doctor/1"}, {"cpu", cpu.name}});
  report.set("instruction_sets", Json::array(cpu.instruction_sets()));
  return report;
}

Status run_doctor(const std::string& json_path) {
  const Json report = describe_machine();
  if (!json_path.empty()) return write_json(json_path, report);
  std::string text = fmt::format("processor         {}\n", *report["cpu"].as_string());
  text += "instruction sets ";
  for (const Json& name : *report["instruction_sets"].as_array()) text += " " + *name.as_string();
  return write_text_file("-", text + "\n");
}

}  // namespace

void add_doctor_verb(CLI::App& app, Outcome& outcome) {
  CLI::App* verb = app.add_subcommand("doctor", "Say what this machine and this build can do");
  auto json_path = std::make_shared<std::string>();
  verb->add_option("--json", *json_path, "Write the report as JSON to FILE (- = stdout)");
  verb->footer(examples({"trilith doctor", "trilith doctor --json -"}));
  verb->callback([json_path, &outcome] {
    const Status status = run_doctor(*json_path);
    if (!status.ok()) outcome.exit_code = report_error(status.error());
  });
}

}  // namespace trilith::cli
