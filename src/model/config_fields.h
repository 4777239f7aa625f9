// Typed, bounded reading of single fields of a config.json. Each error names the field, what was
// expected and what was found. A key whose value is null counts as absent, as in transformers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::model {

struct IntegerRange {
  int64_t least;
  int64_t most;
};

class ConfigFields {
 public:
  explicit ConfigFields(const Json& config) : config_(config) {}

  bool has(std::string_view key) const { return !config_[key].is_null(); }
  bool is_absent(std::string_view key) const { return config_.find(key) == nullptr; }  // not null
  const Json& operator[](std::string_view key) const { return config_[key]; }

  Result<int64_t> integer(std::string_view key, IntegerRange range) const;  // must be there
  Result<int64_t> integer_or(std::string_view key, IntegerRange range, int64_t otherwise) const;
  // In the open interval (0, below).
  Result<double> positive_or(std::string_view key, double below, double otherwise) const;
  Result<bool> boolean_or(std::string_view key, bool otherwise) const;
  Result<std::string> string_or(std::string_view key, std::string_view otherwise) const;

 private:
  const Json& config_;
};

// "config.json says `key`: …", for values that are legal but that this program cannot compute.
Error not_supported(std::string_view key, std::string found, std::string expected);
// For values that contradict each other or break their own bounds.
Error bad_field(std::string_view key, std::string found, std::string expected);

}  // namespace trilith::model
