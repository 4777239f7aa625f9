#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "base/log.h"
#include "base/mapped_file.h"
#include "cli/interrupt.h"
#include "cli/open_model.h"
#include "cli/verb.h"
#include "engine/generate.h"
#include "kernels/registry.h"

namespace trilith::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLargestPrompt = size_t{64} << 20;  // bytes, as the tokenizer has it

struct RunArguments {
  std::string model;
  std::string sheet;
  std::string tokenizer;
  std::string prompt;
  std::string prompt_file;
  std::vector<int32_t> ids;
  int64_t count = 128;
  bool greedy = false;
  bool ignore_eos = false;
  double temperature = 0.8;
  int64_t top_k = 0;
  double top_p = 0.95;
  uint64_t seed = 0;
  std::string mode;
  int threads = 0;
  std::string json_path;
};

// The text to stdout as it arrives, unless stdout is for the JSON.
class TextStream {
 public:
  TextStream(const std::optional<text::Tokenizer>& tokenizer, bool print) : print_(print) {
    if (tokenizer) detokenizer_.emplace(*tokenizer);
  }
  // False when stdout no longer takes anything.
  bool push(int32_t id) {
    return emit(detokenizer_ ? detokenizer_->push(id)
                             : fmt::format("{}{}", text_.empty() ? "" : " ", id));
  }
  bool finish() {
    if (detokenizer_ && !emit(detokenizer_->finish())) return false;
    return !print_ || (std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0);
  }
  bool failed() const { return failed_; }
  const std::string& text() const { return text_; }

 private:
  bool emit(const std::string& piece) {
    text_ += piece;
    if (!print_ || piece.empty()) return true;
    failed_ = std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size() ||
              std::fflush(stdout) != 0;
    return !failed_;
  }

  std::optional<text::StreamingDetokenizer> detokenizer_;
  bool print_;
  bool failed_ = false;
  std::string text_;
};

Result<std::string> read_prompt(const RunArguments& arguments) {
  if (arguments.prompt_file.empty()) return arguments.prompt;
  if (arguments.prompt_file != "-") return read_text_file(arguments.prompt_file);
  std::string text;
  char piece[4096];
  while (std::cin.read(piece, sizeof piece), std::cin.gcount() > 0) {
    text.append(piece, static_cast<size_t>(std::cin.gcount()));
    if (text.size() > kLargestPrompt) break;  // refused by the tokenizer
  }
  return text;
}

Result<std::vector<int32_t>> prompt_ids(const RunArguments& arguments,
                                        const model::LoadedModel& model) {
  if (!arguments.ids.empty()) return arguments.ids;
  const std::optional<text::Tokenizer>& tokenizer = model.tokenizer;
  if (!tokenizer) {
    if (model.no_tokenizer) return Error(*model.no_tokenizer).with_file(arguments.model);
    return Error::unsupported("there is no tokenizer.json beside the weights")
        .with_file(arguments.model)
        .with_hint("name one with --tokenizer, or give token ids with --ids");
  }
  TRILITH_ASSIGN_OR_RETURN(const std::string text, read_prompt(arguments));
  auto ids = tokenizer->encode(text);
  if (!ids.ok()) return std::move(ids).error().with_context("the prompt");
  return ids;
}

double per_second(size_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
}

// Tokens that the decode loop fed back: all but the first, which the prompt gave.
size_t decoded(const engine::Generation& generation) {
  return generation.ids.empty() ? 0 : generation.ids.size() - 1;
}

void report_speed(const engine::Engine& engine, size_t prompt_tokens,
                  const engine::Generation& generation) {
  log_info(fmt::format(
      "{} prompt tokens in {:.3f} s ({:.0f} tokens/s), {} new tokens in {:.3f} s ({:.0f} tokens/s) "
      "· {} · {} · {} thread{}",
      prompt_tokens, generation.prefill_seconds,
      per_second(prompt_tokens, generation.prefill_seconds), generation.ids.size(),
      generation.decode_seconds, per_second(decoded(generation), generation.decode_seconds),
      engine.isa(), engine::mode_name(engine.mode()), engine.threads(),
      engine.threads() == 1 ? "" : "s"));
}

Json report(const engine::Engine& engine, const std::vector<int32_t>& prompt,
            const engine::Generation& generation, const std::string& text, double load_seconds) {
  return Json::object(
      {{"prompt_ids", Json::array(prompt)},
       {"ids", Json::array(generation.ids)},
       {"text", text},
       {"logprobs", Json::array(generation.logprobs)},
       {"stop", stop_reason_name(generation.reason)},
       {"seconds", Json::object({{"load", load_seconds},
                                 {"prefill", generation.prefill_seconds},
                                 {"decode", generation.decode_seconds}})},
       {"tokens_per_second",
        Json::object({{"prefill", per_second(prompt.size(), generation.prefill_seconds)},
                      {"decode", per_second(decoded(generation), generation.decode_seconds)}})},
       {"isa", engine.isa()},
       {"mode", engine::mode_name(engine.mode())},
       {"threads", engine.threads()}});
}

engine::Sampling sampling_of(const RunArguments& arguments) {
  if (arguments.greedy) return {};
  return {.temperature = arguments.temperature,
          .top_k = arguments.top_k,
          .top_p = arguments.top_p,
          .seed = arguments.seed};
}

engine::GenerateOptions generate_options(const RunArguments& arguments,
                                         const model::ModelSpec& spec) {
  engine::GenerateOptions options;
  options.max_new_tokens = arguments.count;
  options.sampling = sampling_of(arguments);
  if (!arguments.ignore_eos) {
    for (const int64_t id : spec.eos_token_ids)
      options.stop_ids.push_back(static_cast<int32_t>(id));
  }
  return options;
}

model::OpenOptions open_options_of(const RunArguments& arguments) {
  model::OpenOptions options =
      open_options(arguments.sheet, {.threads = arguments.threads, .fingerprints = false});
  options.tokenizer = arguments.tokenizer;
  return options;
}

// The exit code, 0 or that of an interrupt.
Result<int> run(const RunArguments& arguments) {
  const auto start = Clock::now();
  engine::Options options;
  options.threads = arguments.threads;
  if (!arguments.mode.empty()) {
    TRILITH_ASSIGN_OR_RETURN(options.mode, engine::mode_from_name(arguments.mode));
  }
  // A wrong call is refused before the model is read.
  TRILITH_ASSIGN_OR_RETURN(const kernels::KernelSet* set, kernels::choose_kernels());
  options.isa = set->name;
  TRILITH_RETURN_IF_ERROR(engine::check_sampling(sampling_of(arguments)));
  TRILITH_ASSIGN_OR_RETURN(model::LoadedModel loaded,
                           model::open_model(arguments.model, open_options_of(arguments)));
  TRILITH_ASSIGN_OR_RETURN(const std::vector<int32_t> prompt, prompt_ids(arguments, loaded));
  TRILITH_ASSIGN_OR_RETURN(engine::Engine engine,
                           engine::Engine::create(std::move(loaded.weights), options));
  const double load_seconds = std::chrono::duration<double>(Clock::now() - start).count();

  const InterruptHandler handler;  // the text ends after the token at work
  TextStream stream(loaded.tokenizer, arguments.json_path != "-");
  TRILITH_ASSIGN_OR_RETURN(const engine::Generation generation,
                           engine::generate(
                               engine, prompt, generate_options(arguments, engine.spec()),
                               [&](int32_t id) { return stream.push(id); },
                               [] { return !InterruptHandler::interrupted(); }));
  if (stream.failed() || !stream.finish()) {
    return Error::runtime("the text cannot be written to stdout");
  }
  report_speed(engine, prompt.size(), generation);
  TRILITH_RETURN_IF_ERROR(write_json(
      arguments.json_path, report(engine, prompt, generation, stream.text(), load_seconds)));
  return InterruptHandler::interrupted() ? exit_code(ErrorKind::kInterrupted) : 0;
}

}  // namespace

void add_run_verb(CLI::App& app, Outcome& outcome) {
  CLI::App* verb = app.add_subcommand("run", "Continue a text with a model");
  auto a = std::make_shared<RunArguments>();
  verb->add_option("model", a->model, "Directory, safetensors file or index, GGUF file")
      ->required();
  CLI::Option_group* source = verb->add_option_group("Prompt", "One of");
  source->add_option("-p,--prompt", a->prompt, "The text to continue");
  source->add_option("--prompt-file", a->prompt_file, "Read the text from FILE (- = stdin)");
  source->add_option("--ids", a->ids, "Token ids in place of a text: \"1,2,3\"")->delimiter(',');
  source->require_option(1);
  verb->add_option("-n,--count", a->count, "New tokens at most")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  CLI::Option* greedy = verb->add_flag("--greedy", a->greedy, "Always the likeliest token");
  verb->add_option("--temperature", a->temperature, "Flattens (> 1) or sharpens (< 1) the choice")
      ->excludes(greedy)
      ->capture_default_str();
  verb->add_option("--top-k", a->top_k, "Choose among the k likeliest tokens; 0: all")
      ->excludes(greedy)
      ->capture_default_str();
  verb->add_option("--top-p", a->top_p, "Choose among the fewest tokens of this probability")
      ->excludes(greedy)
      ->capture_default_str();
  verb->add_option("--seed", a->seed, "The same seed gives the same text")->capture_default_str();
  verb->add_flag("--ignore-eos", a->ignore_eos, "Go on past the end of the text");
  verb->add_option("--mode", a->mode,
                   "Activations of packed linears: a8, a16 or f32; default: as trained, else a16");
  verb->add_option("--threads", a->threads, "Threads; 0: one a processor")->capture_default_str();
  verb->add_option("--sheet", a->sheet, "Format sheet of the packed weights");
  verb->add_option("--tokenizer", a->tokenizer,
                   "tokenizer.json, or its folder, in place of the model's own");
  verb->add_option("--json", a->json_path, "Write ids, text and times to FILE (- = stdout)");
  verb->footer(examples({"trilith run models/sample -p 'Once upon a time' -n 80 --greedy",
                         "trilith run models/sample --ids 363,440 --temperature 0.7 --seed 3",
                         "trilith run models/sample --prompt-file story.txt --json out.json"}));
  verb->callback([a, &outcome] {
    const Result<int> code = run(*a);
    outcome.exit_code = code.ok() ? *code : report_error(code.error());
  });
}

}  // namespace trilith::cli
