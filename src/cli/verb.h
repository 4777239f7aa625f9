// What the verbs of the program share. Each verb lives in one file, <verb>_verb.cc, and adds itself
// to the CLI with its options, examples and action; main.cc lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace trilith::cli {

// Set by the action of the verb that ran; the exit code of the process.
struct Outcome {
  int exit_code = 0;
};

// The whole program: parses the arguments, runs one verb, returns the exit code.
int run_program(int argc, char** argv);

void add_inspect_verb(CLI::App& app, Outcome& outcome);
void add_convert_verb(CLI::App& app, Outcome& outcome);
void add_baseline_verb(CLI::App& app, Outcome& outcome);
void add_run_verb(CLI::App& app, Outcome& outcome);
void add_trace_verb(CLI::App& app, Outcome& outcome);
void add_verify_verb(CLI::App& app, Outcome& outcome);
void add_doctor_verb(CLI::App& app, Outcome& outcome);
void add_tokenize_verb(CLI::App& app, Outcome& outcome);

// Prints "trilith: error: …" to stderr and returns the exit code of its kind.
int report_error(const Error& error);
// Writes pretty JSON to `path` ("-" = stdout); does nothing for an empty path.
Status write_json(const std::string& path, const Json& json);
// A footer for --help: "Examples:" and one indented command a line.
std::string examples(std::initializer_list<std::string_view> commands);

}  // namespace trilith::cli
