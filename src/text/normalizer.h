// What happens to the text before it is cut: NFC, NFD, Prepend, Replace, Sequence.
// Immutable after load.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/regex.h"

namespace trilith::text {

class Normalizer {
 public:
  // `json` is the "normalizer" member; null does nothing.
  static Result<Normalizer> from_json(const Json& json);
  Result<std::string> apply(std::string text) const;

 private:
  struct Compose {};
  struct Decompose {};
  struct Prepend {
    std::string text;
  };
  struct Replace {
    Regex pattern;
    std::string text;
  };
  using Step = std::variant<Compose, Decompose, Prepend, Replace>;

  Status add(const Json& json, int depth);
  static Result<std::string> apply(const Step& step, const std::string& text);

  std::vector<Step> steps_;
};

}  // namespace trilith::text
