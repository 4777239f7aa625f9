#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/open_model.h"
#include "cli/verb.h"
#include "transform/convert.h"

namespace trilith::cli {
namespace {

struct ConvertArguments {
  std::string input;
  std::string target;
  std::string output;
  std::string sheet;
  std::string json_path;
  int64_t group = 0;
  uint64_t shard_bytes = uint64_t{5} << 30;
  bool verify = false;
  bool unused_as_zero = false;
};

Status list_targets() {
  std::string text;
  for (const transform::Target& target : transform::targets()) {
    text += fmt::format("{:<21} {:<19} {}\n", target.name,
                        target.library != nullptr ? target.library->name : "", target.title);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return Error::runtime("the list cannot be written to stdout");
}

// On a terminal alone; the line is wiped at the end.
class ProgressLine {
 public:
  ProgressLine() : is_terminal_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (percent_ >= 0) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(double share) {
    const int percent = static_cast<int>(100 * share);
    if (!is_terminal_ || percent == percent_) return;
    percent_ = percent;
    std::fputs(fmt::format("\rconverting: {:3} %", percent).c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  bool is_terminal_;
  int percent_ = -1;
};

std::string summary(const transform::ConvertReport& report, const ConvertArguments& arguments) {
  return fmt::format(
      "{} → {}: {} packed modules, {} weights, {} dense parts; {} → {} bytes in {} file{}{}",
      report.from, arguments.output, report.packed_modules, report.weights, report.dense_parts,
      report.bytes_in, report.bytes_out, report.files, report.files == 1 ? "" : "s",
      report.verified_weights
          ? fmt::format("; read again, {} values are those of the source", *report.verified_weights)
          : "");
}

Result<int> run(const ConvertArguments& arguments) {
  if (arguments.target == "list") {
    TRILITH_RETURN_IF_ERROR(list_targets());
    return 0;
  }
  if (arguments.input.empty() || arguments.output.empty()) {
    return Error::usage("converting takes a model and -o OUTPUT")
        .with_hint("trilith convert IN --to FORMAT -o OUT; --to list names the formats");
  }
  transform::ConvertRequest request;
  TRILITH_ASSIGN_OR_RETURN(request.target, transform::find_target(arguments.target));
  request.input = arguments.input;
  request.output = arguments.output;
  request.group = arguments.group;
  request.shard_bytes = arguments.shard_bytes;
  request.verify = arguments.verify;
  request.open = open_options(arguments.sheet,
                              {.unused_as_zero = arguments.unused_as_zero, .fingerprints = false});
  const InterruptHandler handler;
  ProgressLine line;
  TRILITH_ASSIGN_OR_RETURN(const transform::ConvertReport report,
                           transform::convert(request, [&](double share) {
                             line.show(share);
                             return !InterruptHandler::interrupted();
                           }));
  TRILITH_RETURN_IF_ERROR(write_json(arguments.json_path, report.to_json()));
  if (report.refused()) return report.refusal().with_file(arguments.input);
  for (const std::string& note : report.notes) log_warning(note);
  log_info(summary(report, arguments));
  return 0;
}

}  // namespace

void add_convert_verb(CLI::App& app, Outcome& outcome) {
  CLI::App* verb =
      app.add_subcommand("convert", "Write a model in another format, with every weight unchanged");
  auto a = std::make_shared<ConvertArguments>();
  verb->add_option("model", a->input, "Directory, safetensors file or index");
  verb->add_option("--to", a->target, "The format; 'list' names them")->required();
  verb->add_option("-o,--output", a->output, "The folder to write; must not exist");
  verb->add_flag("--verify", a->verify, "Read the output again and compare every value");
  verb->add_option("--group-size", a->group,
                   "Inputs a scale, where the format leaves it open; default: as in the source")
      ->check(CLI::PositiveNumber);
  verb->add_option("--shard-size", a->shard_bytes, "Bytes of a file at most (5GB, 500MB, …)")
      ->transform(CLI::AsSizeValue(true));
  verb->add_flag("--unused-as-zero", a->unused_as_zero, "Read codes without a level as 0");
  verb->add_option("--sheet", a->sheet, "Format sheet of the model's packed weights");
  verb->add_option("--json", a->json_path,
                   "Write what was done, or what would be lost, to FILE (- = stdout)");
  verb->footer(examples({"trilith convert --to list",
                         "trilith convert models/sample --to gptq-2bit -o sample-gptq --verify",
                         "trilith convert models/sample --to f16 -o sample-dense"}));
  verb->callback([a, &outcome] {
    const Result<int> code = run(*a);
    outcome.exit_code = code.ok() ? *code : report_error(code.error());
  });
}

}  // namespace trilith::cli
