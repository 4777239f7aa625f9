#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/output_file.h"
#include "cli/verb.h"
#include "model/load_tokenizer.h"
#include "text/tokenizer.h"

namespace trilith::cli {
namespace {

struct TokenizeArguments {
  std::string model;
  std::string file = "-";
  std::string json_path;
  bool json_lines = false;
  bool decode = false;
  bool keep_special = false;
  bool special_as_text = false;
  bool bare = false;
};

Result<std::vector<int32_t>> ids_from_line(const std::string& line) {
  TRILITH_ASSIGN_OR_RETURN(const Json json, Json::parse(line));
  const Json::Array* items = json.as_array();
  if (items == nullptr) return Error::usage("a line is not a list of ids").with_found(line);
  std::vector<int32_t> ids;
  for (const Json& item : *items) {
    const auto id = item.as_integer();
    if (!id || *id < INT32_MIN || *id > INT32_MAX) {
      return Error::usage("an id is not a 32-bit integer").with_found(item.dump());
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

Result<std::string> text_from_line(const std::string& line, bool json_lines) {
  if (!json_lines) return line;
  TRILITH_ASSIGN_OR_RETURN(const Json json, Json::parse(line));
  const std::string* text = json.as_string();
  if (text == nullptr) return Error::usage("a line is not a JSON string").with_found(line);
  return *text;
}

Result<Json> process_line(const text::Tokenizer& tokenizer, const std::string& line,
                          const TokenizeArguments& arguments) {
  if (arguments.decode) {
    TRILITH_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, ids_from_line(line));
    TRILITH_ASSIGN_OR_RETURN(std::string text, tokenizer.decode(ids, !arguments.keep_special));
    return Json(std::move(text));
  }
  TRILITH_ASSIGN_OR_RETURN(const std::string text, text_from_line(line, arguments.json_lines));
  TRILITH_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                           tokenizer.encode(text, {.add_special_tokens = !arguments.bare,
                                                   .parse_special = !arguments.special_as_text}));
  return Json::array(ids);
}

Result<text::Tokenizer> tokenizer_of(std::string path) {
  if (path.ends_with(".gguf")) {
    TRILITH_ASSIGN_OR_RETURN(const auto checkpoint, checkpoint::Checkpoint::open(path));
    auto loaded = model::load_tokenizer(checkpoint);
    if (!loaded.ok()) return std::move(loaded).error().with_file(path);
    if (*loaded) return std::move((*loaded)->tokenizer);
    return Error::unsupported("the file has no vocabulary").with_file(path);
  }
  if (std::filesystem::is_directory(path)) path += "/tokenizer.json";
  return text::Tokenizer::from_file(path);
}

Status run_tokenize(const TokenizeArguments& arguments) {
  TRILITH_ASSIGN_OR_RETURN(const text::Tokenizer tokenizer, tokenizer_of(arguments.model));
  std::ifstream opened;
  if (arguments.file != "-") {
    opened.open(arguments.file);
    if (!opened) return Error::runtime("cannot be opened").with_file(arguments.file);
  }
  std::istream& input = arguments.file == "-" ? std::cin : opened;
  Json results = Json(Json::Array());
  std::string line;
  for (size_t number = 1; std::getline(input, line); ++number) {
    auto result = process_line(tokenizer, line, arguments);
    if (!result.ok()) {
      return std::move(result).error().with_context(fmt::format("line {}", number));
    }
    if (arguments.json_path.empty()) {
      TRILITH_RETURN_IF_ERROR(write_text_file("-", result->dump() + "\n"));
    } else {
      results.push(*std::move(result));
    }
  }
  if (input.bad()) return Error::runtime("cannot be read").with_file(arguments.file);
  if (arguments.json_path.empty()) return {};
  Json report =
      Json::object({{"schema", "trilith.tokens/1"}, {"vocab_size", tokenizer.vocab_size()}});
  report.set(arguments.decode ? "texts" : "ids", std::move(results));
  return write_json(arguments.json_path, report);
}

}  // namespace

void add_tokenize_verb(CLI::App& app, Outcome& outcome) {
  CLI::App* verb = app.add_subcommand("tokenize", "Turn lines of text into token ids, or back");
  auto arguments = std::make_shared<TokenizeArguments>();
  verb->add_option("model", arguments->model, "Model directory, tokenizer.json or GGUF file")
      ->required();
  verb->add_option("--file", arguments->file, "Read lines from FILE instead of stdin (- = stdin)");
  verb->add_flag("--json-lines", arguments->json_lines,
                 "Each line is a JSON string (so that a text can hold line breaks)");
  CLI::Option* decode = verb->add_flag("--decode", arguments->decode,
                                       "Lines are lists of ids, [1, 2, 3]; print JSON strings");
  verb->add_flag("--keep-special", arguments->keep_special, "Keep special tokens when decoding")
      ->needs(decode);
  verb->add_flag("--special-as-text", arguments->special_as_text,
                 "Read \"<|…|>\" in the text as plain characters");
  verb->add_flag("--bare", arguments->bare, "Add nothing around the text (bos, eos)");
  verb->add_option("--json", arguments->json_path,
                   "Write all results as JSON to FILE (- = stdout)");
  verb->footer(examples({"echo 'Once upon a time' | trilith tokenize models/sample",
                         "echo '[363, 440, 258]' | trilith tokenize models/sample --decode",
                         "trilith tokenize tokenizer.json --file texts.jsonl --json-lines"}));
  verb->callback([arguments, &outcome] {
    const Status status = run_tokenize(*arguments);
    if (!status.ok()) outcome.exit_code = report_error(status.error());
  });
}

}  // namespace trilith::cli
