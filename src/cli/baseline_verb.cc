// baseline: a golden trace kept in a repository, and the one line a CI job needs.
//   DIR/golden.safetensors   a sampled trace of the reference
//   DIR/baseline.json        trilith.baseline/1: how it was made, its SHA-256, why it was changed
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/build_info.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/sha256.h"
#include "cli/trace_call.h"
#include "cli/verb.h"
#include "cli/verify_call.h"
#include "reconcile/trace_file.h"

namespace trilith::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "trilith.baseline/1";

std::string golden_path(const std::string& folder) {
  return (fs::path(folder) / "golden.safetensors").string();
}
std::string record_path(const std::string& folder) {
  return (fs::path(folder) / "baseline.json").string();
}

Result<std::string> sha256_of(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  return sha256_hex(file.bytes());
}

Result<Json> read_record(const std::string& folder) {
  auto record = read_json_file(record_path(folder));
  if (!record.ok()) {
    return std::move(record).error().with_hint("`trilith baseline init` makes a baseline");
  }
  const std::string* schema = (*record)["schema"].as_string();
  const bool known = schema != nullptr && *schema == kSchema &&
                     (*record)["golden_sha256"].as_string() != nullptr &&
                     (*record)["model"].as_string() != nullptr;
  if (known) return record;
  return Error::damaged("this is no baseline")
      .with_file(record_path(folder))
      .with_expected(fmt::format("schema {} with model and golden_sha256", kSchema))
      .with_found(schema != nullptr ? *schema : "no schema");
}

// The model of the call, else the one of the record, which is relative to the folder.
std::string model_of(const std::string& given, const Json& record, const std::string& folder) {
  if (!given.empty()) return given;
  return (fs::path(folder) / *record["model"].as_string()).lexically_normal().string();
}

Status write_record(const std::string& folder, const TraceArguments& trace, Json reasons) {
  std::error_code problem;
  fs::path model = fs::relative(trace.model, folder, problem);
  if (problem) return Error::runtime(problem.message()).with_file(trace.model);
  TRILITH_ASSIGN_OR_RETURN(const reconcile::TraceFile golden,
                           reconcile::TraceFile::open(golden_path(folder)));
  TRILITH_ASSIGN_OR_RETURN(const std::string sha256, sha256_of(golden_path(folder)));
  Json record = Json::object({{"schema", kSchema},
                              {"model", model.generic_string()},
                              {"model_fingerprint", golden.description()["model_fingerprint"]},
                              {"mode", golden.description()["mode"]},
                              {"prompts", golden.prompt_count()},
                              {"rows", trace.rows},
                              {"seed", trace.seed},
                              {"golden_sha256", sha256}});
  record.set("points", Json::array(trace.points));
  record.set("made_by", golden.description()["build"]);
  record.set("reasons", std::move(reasons));
  return write_text_file(record_path(folder), record.dump(2) + "\n");
}

Status run_init(const std::string& folder, TraceArguments trace) {
  std::error_code problem;
  if (fs::exists(record_path(folder), problem)) {
    return Error::usage("there is a baseline already")
        .with_file(record_path(folder))
        .with_hint("`trilith baseline update` replaces it, with a reason");
  }
  fs::create_directories(folder, problem);
  if (problem) return Error::runtime(problem.message()).with_file(folder);
  trace.output = golden_path(folder);
  TRILITH_RETURN_IF_ERROR(run_trace(trace));
  Json reasons = Json(Json::Array());
  reasons.push("the first");
  return write_record(folder, trace, std::move(reasons));
}

Result<int> run_check(const std::string& folder, VerifyArguments verify) {
  TRILITH_ASSIGN_OR_RETURN(const Json record, read_record(folder));
  verify.baseline = golden_path(folder);
  verify.model = model_of(verify.model, record, folder);
  TRILITH_ASSIGN_OR_RETURN(const std::string sha256, sha256_of(verify.baseline));
  if (sha256 != *record["golden_sha256"].as_string()) {
    return Error::damaged("the golden trace is not the one the baseline was made with")
        .with_file(verify.baseline)
        .with_expected("SHA-256 " + *record["golden_sha256"].as_string())
        .with_found(sha256)
        .with_hint("fetch it anew (Git LFS?), or make it anew with `trilith baseline update`");
  }
  return run_verify(verify);
}

// The tokens of the old golden, with the options it was made with.
Result<TraceArguments> as_before(const std::string& folder, const Json& record) {
  TRILITH_ASSIGN_OR_RETURN(const reconcile::TraceFile golden,
                           reconcile::TraceFile::open(golden_path(folder)));
  TraceArguments trace;
  const Json::Array* texts = golden.description()["texts"].as_array();
  for (int64_t prompt = 0; prompt < golden.prompt_count(); ++prompt) {
    const auto at = static_cast<size_t>(prompt);
    const bool has_text = texts != nullptr && at < texts->size() && (*texts)[at].as_string();
    trace.given.push_back({has_text ? *(*texts)[at].as_string() : "", golden.ids(prompt)});
  }
  trace.level = "sampled";
  trace.rows = record["rows"].as_integer().value_or(trace.rows);
  trace.seed = static_cast<uint64_t>(record["seed"].as_integer().value_or(0));
  if (const std::string* mode = record["mode"].as_string()) trace.mode = *mode;
  if (const Json::Array* points = record["points"].as_array()) {
    for (const Json& point : *points) {
      if (point.as_string() != nullptr) trace.points.push_back(*point.as_string());
    }
  }
  return trace;
}

Result<int> run_update(const std::string& folder, VerifyArguments verify,
                       const std::string& reason) {
  TRILITH_ASSIGN_OR_RETURN(const Json record, read_record(folder));
  TRILITH_ASSIGN_OR_RETURN(TraceArguments trace, as_before(folder, record));
  trace.model = model_of(verify.model, record, folder);
  trace.sheet = verify.sheet;
  trace.threads = verify.threads;
  trace.output = golden_path(folder) + ".new";
  TRILITH_RETURN_IF_ERROR(run_trace(trace));
  // What the change is, for whoever reads the commit.
  verify.model = trace.model;
  verify.baseline = golden_path(folder);
  verify.target = trace.output;
  const auto compared = run_verify(verify);
  std::error_code problem;
  if (!compared.ok()) {
    fs::remove(trace.output, problem);
    return Error(compared.error());
  }
  fs::rename(trace.output, golden_path(folder), problem);
  if (problem) return Error::runtime(problem.message()).with_file(golden_path(folder));
  Json reasons = record["reasons"].is_array() ? record["reasons"] : Json(Json::Array());
  reasons.push(reason);
  TRILITH_RETURN_IF_ERROR(write_record(folder, trace, std::move(reasons)));
  return 0;
}

void add_init(CLI::App& baseline, const std::shared_ptr<std::string>& folder, Outcome& outcome) {
  CLI::App* verb = baseline.add_subcommand("init", "Make the golden trace of a model");
  auto trace = std::make_shared<TraceArguments>();
  trace->level = "sampled";
  trace->mode = "f32";
  verb->add_option("folder", *folder, "Where the baseline is kept")->required();
  verb->add_option("--model", trace->model, "The model that is right")->required();
  auto* prompts = verb->add_option("--prompts", trace->prompts,
                                   "Texts: one a line, or JSON lines {\"prompt\": …}");
  auto* ids = verb->add_option("--ids", trace->ids, "Token ids: JSON lines of integer lists");
  prompts->excludes(ids);
  verb->add_option("--mode", trace->mode,
                   "Activations of packed linears in the golden trace; f32 holds for every target")
      ->check(CLI::IsMember({"f32", "a8", "a16"}))
      ->capture_default_str();
  verb->add_option("--rows", trace->rows, "Tokens of a prompt that are kept")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("--seed", trace->seed, "Chooses them")->capture_default_str();
  verb->add_option("--points", trace->points, "Keep only these points, in every layer")
      ->delimiter(',');
  verb->add_option("--max-tokens", trace->max_tokens, "Cut every prompt to N tokens")
      ->check(CLI::PositiveNumber);
  verb->add_option("--sheet", trace->sheet, "Format sheet of the packed weights");
  verb->footer(examples({"trilith baseline init tests/golden --model MODEL --prompts texts.txt"}));
  verb->callback([folder, trace, &outcome] {
    const bool asked = !trace->prompts.empty() || !trace->ids.empty();
    const Status status =
        asked ? run_init(*folder, *trace) : Status(Error::usage("give --prompts or --ids"));
    if (!status.ok()) outcome.exit_code = report_error(status.error());
  });
}

void add_check(CLI::App& baseline, const std::shared_ptr<std::string>& folder, Outcome& outcome) {
  CLI::App* verb = baseline.add_subcommand("check", "Hold the engine, or a trace, against it");
  auto verify = std::make_shared<VerifyArguments>();
  verb->add_option("folder", *folder, "Where the baseline is kept")->required();
  verb->add_option("--model", verify->model, "The model; default: the one init was given");
  add_verify_options(*verb, *verify);
  verb->footer(
      examples({"trilith baseline check tests/golden",
                "trilith baseline check tests/golden --model MODEL --target port.safetensors"}));
  verb->callback([folder, verify, &outcome] {
    const Result<int> result = run_check(*folder, *verify);
    outcome.exit_code = result.ok() ? *result : report_error(result.error());
  });
}

void add_update(CLI::App& baseline, const std::shared_ptr<std::string>& folder, Outcome& outcome) {
  CLI::App* verb = baseline.add_subcommand(
      "update", "Make the golden trace anew over the same tokens, and show what changed");
  auto verify = std::make_shared<VerifyArguments>();
  auto reason = std::make_shared<std::string>();
  verb->add_option("folder", *folder, "Where the baseline is kept")->required();
  verb->add_option("--reason", *reason, "Why what was right is right no more; kept in the baseline")
      ->required()
      ->check([](const std::string& text) {
        return text.empty() ? std::string("an empty reason is none") : std::string();
      });
  verb->add_option("--model", verify->model, "The model; default: the one init was given");
  verb->add_option("--sheet", verify->sheet, "Format sheet of the packed weights");
  verb->add_option("--json", verify->json, "Write what changed as a ledger (- = stdout)");
  verb->callback([folder, verify, reason, &outcome] {
    const Result<int> result = run_update(*folder, *verify, *reason);
    outcome.exit_code = result.ok() ? *result : report_error(result.error());
  });
}

}  // namespace

void add_baseline_verb(CLI::App& app, Outcome& outcome) {
  CLI::App* verb =
      app.add_subcommand("baseline", "Keep a golden trace in a repository and check against it");
  verb->require_subcommand(1);
  auto folder = std::make_shared<std::string>();
  add_init(*verb, folder, outcome);
  add_check(*verb, folder, outcome);
  add_update(*verb, folder, outcome);
}

}  // namespace trilith::cli
