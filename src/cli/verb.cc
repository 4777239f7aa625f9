#include "cli/verb.h"

#include <cstdio>

#include "base/output_file.h"

namespace trilith::cli {

int report_error(const Error& error) {
  const std::string line = "trilith: error: " + error.to_string() + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  return exit_code(error.kind);
}

Status write_json(const std::string& path, const Json& json) {
  if (path.empty()) return {};
  return write_text_file(path, json.dump(2) + "\n");
}

std::string examples(std::initializer_list<std::string_view> commands) {
  std::string text = "Examples:\n";
  for (const std::string_view command : commands) text += "  " + std::string(command) + "\n";
  return text;
}

}  // namespace trilith::cli
