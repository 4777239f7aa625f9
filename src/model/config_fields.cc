#include "model/config_fields.h"

#include <fmt/format.h>

namespace trilith::model {
namespace {

constexpr const char* kFile = "config.json";

}  // namespace

Error not_supported(std::string_view key, std::string found, std::string expected) {
  return Error::unsupported(fmt::format("the value of '{}' asks for something not supported", key))
      .with_file(kFile)
      .with_expected(std::move(expected))
      .with_found(std::move(found));
}

Error bad_field(std::string_view key, std::string found, std::string expected) {
  return Error::damaged(fmt::format("the value of '{}' is wrong", key))
      .with_file(kFile)
      .with_expected(std::move(expected))
      .with_found(std::move(found));
}

Result<int64_t> ConfigFields::integer(std::string_view key, IntegerRange range) const {
  const Json& value = config_[key];
  if (value.is_null()) {
    return Error::damaged(fmt::format("'{}' is missing", key)).with_file(kFile);
  }
  const auto number = value.as_integer();
  if (!number || *number < range.least || *number > range.most) {
    return bad_field(key, value.dump(),
                     fmt::format("an integer from {} to {}", range.least, range.most));
  }
  return *number;
}

Result<int64_t> ConfigFields::integer_or(std::string_view key, IntegerRange range,
                                         int64_t otherwise) const {
  return has(key) ? integer(key, range) : Result<int64_t>(otherwise);
}

Result<double> ConfigFields::positive_or(std::string_view key, double below,
                                         double otherwise) const {
  if (!has(key)) return otherwise;
  const auto number = config_[key].as_number();
  if (!number || !(*number > 0) || !(*number < below)) {
    return bad_field(key, config_[key].dump(), fmt::format("a number above 0 and below {}", below));
  }
  return *number;
}

Result<bool> ConfigFields::boolean_or(std::string_view key, bool otherwise) const {
  if (!has(key)) return otherwise;
  const auto flag = config_[key].as_bool();
  if (!flag) return bad_field(key, config_[key].dump(), "true or false");
  return *flag;
}

Result<std::string> ConfigFields::string_or(std::string_view key,
                                            std::string_view otherwise) const {
  if (!has(key)) return std::string(otherwise);
  const std::string* text = config_[key].as_string();
  if (text == nullptr) return bad_field(key, config_[key].dump(), "a string");
  return *text;
}

}  // namespace trilith::model
