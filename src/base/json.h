// Json: a JSON document as a value. Object members keep their order; of duplicate keys the last
// wins, as in Python (Hugging Face configs with `quantization_config` twice exist). Parsing is
// bounded in depth and size and reports line and column. The parser behind it is nlohmann-json,
// included by json.cc alone because it is dear to compile.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace trilith {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  struct ParseLimits {
    size_t max_depth = 64;
    size_t max_bytes = size_t{256} << 20;
    size_t max_values = size_t{8} << 20;
    bool unique_keys = false;  // refuse an object that has a key twice
  };

  Json() = default;
  Json(std::nullptr_t) {}                                         // NOLINT(*-explicit-*)
  Json(bool value) : value_(value) {}                             // NOLINT(*-explicit-*)
  Json(int value) : value_(static_cast<int64_t>(value)) {}        // NOLINT(*-explicit-*)
  Json(unsigned value) : value_(static_cast<int64_t>(value)) {}   // NOLINT(*-explicit-*)
  Json(long value) : value_(static_cast<int64_t>(value)) {}       // NOLINT(*-explicit-*)
  Json(long long value) : value_(static_cast<int64_t>(value)) {}  // NOLINT(*-explicit-*)
  Json(unsigned long value);                                      // NOLINT(*-explicit-*)
  // NOLINTNEXTLINE(*-explicit-*)
  Json(unsigned long long value) : Json(static_cast<unsigned long>(value)) {}
  Json(double value) : value_(value) {}                         // NOLINT(*-explicit-*)
  Json(float value) : value_(static_cast<double>(value)) {}     // NOLINT(*-explicit-*)
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT(*-explicit-*)
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT(*-explicit-*)
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT(*-explicit-*)
  Json(Array value) : value_(std::move(value)) {}               // NOLINT(*-explicit-*)
  Json(Object value) : value_(std::move(value)) {}              // NOLINT(*-explicit-*)
  template <typename T>
  static Json array(const T& values) {
    Array items;
    for (const auto& value : values) items.emplace_back(value);
    return Json(std::move(items));
  }
  static Json object(std::initializer_list<Member> members = {}) { return Json(Object(members)); }

  // Numbers are finite by construction: NaN and infinities are refused. The error has no file name.
  static Result<Json> parse(std::string_view text, const ParseLimits& limits);
  static Result<Json> parse(std::string_view text) { return parse(text, ParseLimits{}); }
  // indent < 0: one line. Non-finite doubles become null.
  std::string dump(int indent = -1) const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // The value when it has that type, else nothing. as_integer also takes 3.0; as_number takes both.
  std::optional<bool> as_bool() const;
  std::optional<int64_t> as_integer() const;
  std::optional<double> as_number() const;
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }
  Array* as_array() { return std::get_if<Array>(&value_); }
  Object* as_object() { return std::get_if<Object>(&value_); }

  // Member `key` of an object, or null (a pointer) when absent or when this is no object.
  const Json* find(std::string_view key) const;
  // Member `key`, or a shared null value: chains without checks, json["a"]["b"].
  const Json& operator[](std::string_view key) const;
  // Sets a member, turning a null value into an object first; this must be an object or null.
  Json& set(std::string key, Json value);
  // Appends, turning a null value into an array first; this must be an array or null.
  Json& push(Json value);

  bool operator==(const Json& other) const = default;
  // "an object", "a string", … for error messages.
  std::string_view type_name() const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// Reads and parses a file; errors name it.
Result<Json> read_json_file(const std::string& path);

}  // namespace trilith
