#include "reconcile/prompts.h"

#include <fmt/format.h>

#include "base/json.h"

namespace trilith::reconcile {
namespace {

struct Line {
  size_t number;  // from 1
  std::string_view text;
};

std::vector<Line> lines_of(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  std::vector<Line> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.push_back({number, line});
  }
  return lines;
}

Error bad_line(const Line& line, std::string expected) {
  return Error::damaged(fmt::format("line {} cannot be used", line.number))
      .with_expected(std::move(expected))
      .with_found(std::string(line.text.substr(0, 80)));
}

}  // namespace

Result<std::vector<std::string>> parse_prompts(std::string_view text) {
  const std::vector<Line> lines = lines_of(text);
  if (lines.empty()) return Error::usage("there is no prompt in the file");
  const auto first = Json::parse(lines[0].text);
  const bool json_lines = first.ok() && first->is_object();
  std::vector<std::string> prompts;
  for (const Line& line : lines) {
    if (!json_lines) {
      prompts.emplace_back(line.text);
      continue;
    }
    const auto object = Json::parse(line.text);
    const std::string* prompt = object.ok() ? (*object)["prompt"].as_string() : nullptr;
    if (prompt == nullptr) return bad_line(line, "a JSON object with a string \"prompt\"");
    prompts.push_back(*prompt);
  }
  return prompts;
}

Result<std::vector<std::vector<int32_t>>> parse_id_lists(std::string_view text) {
  std::vector<std::vector<int32_t>> lists;
  for (const Line& line : lines_of(text)) {
    const auto json = Json::parse(line.text);
    const Json::Array* items = json.ok() ? json->as_array() : nullptr;
    if (items == nullptr || items->empty()) return bad_line(line, "a JSON list of token ids");
    std::vector<int32_t> ids;
    for (const Json& item : *items) {
      const auto id = item.as_integer();
      if (!id || *id < 0 || *id > INT32_MAX) return bad_line(line, "token ids of 0 and above");
      ids.push_back(static_cast<int32_t>(*id));
    }
    lists.push_back(std::move(ids));
  }
  if (lists.empty()) return Error::usage("there is no token id in the file");
  return lists;
}

}  // namespace trilith::reconcile
