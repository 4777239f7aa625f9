#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "cli/verb.h"
#include "inspect/inspection.h"
#include "inspect/sheet_diff.h"

namespace trilith::cli {
namespace {

struct InspectArguments {
  std::string path;
  std::string json;
  std::string markdown;
  std::string html;
  std::string unpack;
  std::string probe;
  std::string reference;
  std::vector<std::string> diff;
  std::vector<std::string> assume;
  bool no_probe = false;
  bool save = false;
};

Result<inspect::InspectOptions> options_from(const InspectArguments& arguments) {
  inspect::InspectOptions options;
  options.probe = !arguments.no_probe;
  options.probe_text = arguments.probe;
  for (const std::string& text : arguments.assume) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Error::usage("--assume takes FIELD=VALUE")
          .with_found(text)
          .with_hint("for example --assume law.slot_order=low_first");
    }
    options.assume.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return options;
}

// Everything the user asked to be written; the sheet goes first, so that it exists even when
// unpacking fails.
Status write_outputs(const InspectArguments& arguments, const inspect::Sheet& sheet,
                     const checkpoint::Checkpoint* checkpoint) {
  const Json json = to_json(sheet);
  TRILITH_RETURN_IF_ERROR(write_json(arguments.json, json));
  if (!arguments.markdown.empty()) {
    TRILITH_RETURN_IF_ERROR(write_text_file(arguments.markdown, to_markdown(sheet)));
  }
  if (!arguments.html.empty()) {
    TRILITH_RETURN_IF_ERROR(write_text_file(arguments.html, to_html(sheet)));
  }
  if (sheet.verdict == inspect::Verdict::kRefused || checkpoint == nullptr) return {};
  if (arguments.save) {
    TRILITH_RETURN_IF_ERROR(write_json(checkpoint->folder() + "/trilith_sheet.json", json));
  }
  if (!arguments.unpack.empty()) {
    TRILITH_RETURN_IF_ERROR(inspect::unpack(*checkpoint, sheet, arguments.unpack));
  }
  return {};
}

Result<int> run_inspect(const InspectArguments& arguments) {
  TRILITH_ASSIGN_OR_RETURN(inspect::InspectOptions options, options_from(arguments));
  std::optional<inspect::DenseSibling> reference;
  if (!arguments.reference.empty()) {
    TRILITH_ASSIGN_OR_RETURN(reference, inspect::DenseSibling::open(arguments.reference));
    options.reference = &*reference;
  }
  const auto checkpoint = checkpoint::Checkpoint::open(arguments.path);
  inspect::Sheet sheet;
  if (checkpoint.ok()) {
    TRILITH_ASSIGN_OR_RETURN(sheet, inspect::inspect_checkpoint(*checkpoint, options));
  } else {
    const int code = exit_code(checkpoint.error().kind);
    if (code != exit_code(ErrorKind::kDamaged)) return checkpoint.error();
    sheet = inspect::refused_sheet(checkpoint.error());
  }
  TRILITH_RETURN_IF_ERROR(
      write_outputs(arguments, sheet, checkpoint.ok() ? &*checkpoint : nullptr));
  if (arguments.json != "-" && arguments.markdown != "-" && arguments.html != "-") {
    TRILITH_RETURN_IF_ERROR(write_text_file("-", inspect::summary(sheet)));
  }
  return sheet.verdict == inspect::Verdict::kIdentified ? 0 : exit_code(ErrorKind::kAmbiguous);
}

// A sheet as JSON: that of a file, or of a checkpoint inspected now.
Result<Json> sheet_json(const std::string& path, const inspect::InspectOptions& options) {
  if (path.ends_with(".json") && !path.ends_with(".index.json")) return read_json_file(path);
  TRILITH_ASSIGN_OR_RETURN(const auto checkpoint, checkpoint::Checkpoint::open(path));
  TRILITH_ASSIGN_OR_RETURN(const auto sheet, inspect::inspect_checkpoint(checkpoint, options));
  return to_json(sheet);
}

Result<int> run_diff(const InspectArguments& arguments) {
  TRILITH_ASSIGN_OR_RETURN(const inspect::InspectOptions options, options_from(arguments));
  TRILITH_ASSIGN_OR_RETURN(const Json first, sheet_json(arguments.diff[0], options));
  TRILITH_ASSIGN_OR_RETURN(const Json second, sheet_json(arguments.diff[1], options));
  TRILITH_ASSIGN_OR_RETURN(const auto differences, inspect::diff_sheets(first, second));
  TRILITH_RETURN_IF_ERROR(write_json(arguments.json, inspect::diff_json(differences)));
  if (arguments.json != "-") {
    TRILITH_RETURN_IF_ERROR(write_text_file("-", inspect::diff_text(differences)));
  }
  return differences.empty() ? 0 : exit_code(ErrorKind::kVerification);
}

}  // namespace

void add_inspect_verb(CLI::App& app, Outcome& outcome) {
  CLI::App* verb = app.add_subcommand("inspect", "Work out how a checkpoint's weights are packed");
  auto arguments = std::make_shared<InspectArguments>();
  CLI::Option* path =
      verb->add_option("PATH", arguments->path, "A model folder, *.safetensors or *.index.json");
  verb->add_option(
          "--diff", arguments->diff,
          "Two checkpoints or sheets (*.json): what differs; exit status 3 if anything does")
      ->expected(2)
      ->excludes(path);
  verb->add_option("--json", arguments->json, "Write the format sheet as JSON (- = stdout)");
  verb->add_option("--md", arguments->markdown, "Write the format sheet as Markdown (- = stdout)");
  verb->add_option("--html", arguments->html, "Write it as one HTML page with plots (- = stdout)");
  verb->add_flag("--save", arguments->save, "Write trilith_sheet.json beside the weights");
  verb->add_option("--unpack", arguments->unpack,
                   "Write every packed matrix as F32 [N, K] to this safetensors file");
  CLI::Option* text =
      verb->add_option("--probe", arguments->probe, "Text whose loss decides between readings");
  verb->add_flag("--no-probe", arguments->no_probe, "Decide by the bytes alone")->excludes(text);
  verb->add_option("--reference", arguments->reference,
                   "The unquantised model, or one of its matrices: settles sign, order and scales");
  verb->add_option("--assume", arguments->assume,
                   "FIELD=VALUE: settle a field that the bytes leave open; may be repeated")
      ->allow_extra_args(false);
  verb->footer(examples(
      {"trilith inspect models/sample", "trilith inspect MODEL --json - --no-probe",
       "trilith inspect MODEL --save --md SHEET.md --html sheet.html",
       "trilith inspect MODEL --reference ORIGINAL", "trilith inspect --diff MODEL CONVERTED",
       "trilith inspect MODEL --assume scale.op=div --unpack dense.safetensors"}));
  verb->callback([arguments, &outcome] {
    const bool diff = !arguments->diff.empty();
    const Result<int> code =
        diff ? run_diff(*arguments)
             : (arguments->path.empty()
                    ? Result<int>(Error::usage("inspect takes a PATH, or --diff"))
                    : run_inspect(*arguments));
    outcome.exit_code = code.ok() ? *code : report_error(code.error());
  });
}

}  // namespace trilith::cli
