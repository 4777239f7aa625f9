// What `verify` and `baseline` share: one verification with everything it writes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"

namespace trilith::cli {

struct VerifyArguments {
  std::string model;
  std::string sheet;
  std::string baseline;
  std::string target;
  std::string backend = "engine";
  std::string mode;
  std::string isa;
  std::string json;
  std::string html;
  std::string junit;
  bool strict = false;
  int threads = 0;
};

// The options that are the same for every verb that verifies.
void add_verify_options(CLI::App& verb, VerifyArguments& arguments);
// Verifies, writes the ledger in the forms asked for, and returns the exit code of the verdict.
Result<int> run_verify(const VerifyArguments& arguments);

}  // namespace trilith::cli
