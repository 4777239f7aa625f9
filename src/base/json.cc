#include "base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/mapped_file.h"

namespace trilith {
namespace {

using Backend = nlohmann::ordered_json;

// Builds the value from parser events; the stack is explicit, so depth costs no call stack.
class Builder : public nlohmann::json_sax<Backend> {
 public:
  explicit Builder(const Json::ParseLimits& limits) : limits_(limits) {}

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(int64_t value) override { return add(Json(value)); }
  bool number_unsigned(uint64_t value) override { return add(Json(value)); }
  bool number_float(double value, const std::string& text) override {
    if (!std::isfinite(value)) return fail(fmt::format("the number {} is out of range", text));
    return add(Json(value));
  }
  bool string(std::string& value) override { return add(Json(std::move(value))); }
  bool binary(Backend::binary_t&) override { return fail("binary values are not JSON"); }
  bool start_object(size_t) override { return open(Json(Json::Object())); }
  bool start_array(size_t) override { return open(Json(Json::Array())); }
  bool key(std::string& value) override {
    keys_.back() = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    position_ = position;
    return fail(exception.what());
  }

  Json take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }
  size_t position() const { return position_; }

 private:
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool open(Json container) {
    if (stack_.size() >= limits_.max_depth) {
      return fail(fmt::format("nested deeper than {} levels", limits_.max_depth));
    }
    stack_.push_back(std::move(container));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Json value = std::move(stack_.back());
    stack_.pop_back();
    keys_.pop_back();
    if (!settle_duplicate_members(value)) return false;
    return add(std::move(value));
  }
  bool add(Json value) {
    if (++values_ > limits_.max_values) return fail("too many values");
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (auto* items = stack_.back().as_array()) {
      items->push_back(std::move(value));
    } else {
      stack_.back().as_object()->emplace_back(std::move(keys_.back()), std::move(value));
    }
    return true;
  }
  // Last of duplicate keys wins, in the place of the first, unless they are refused; one sort
  // instead of a search a member.
  bool settle_duplicate_members(Json& value) {
    auto* members = value.as_object();
    if (members == nullptr || members->size() < 2) return true;
    std::vector<size_t> order(members->size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const int compared = (*members)[a].first.compare((*members)[b].first);
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<bool> dropped(members->size(), false);
    bool any = false;
    for (size_t first = 0; first < order.size();) {
      size_t last = first;
      while (last + 1 < order.size() &&
             (*members)[order[last + 1]].first == (*members)[order[first]].first) {
        dropped[order[++last]] = true;
        any = true;
      }
      if (last != first) {
        if (limits_.unique_keys) {
          return fail(fmt::format("the key '{}' occurs twice", (*members)[order[first]].first));
        }
        (*members)[order[first]].second = std::move((*members)[order[last]].second);
      }
      first = last + 1;
    }
    if (!any) return true;
    Json::Object kept;
    for (size_t i = 0; i < members->size(); ++i) {
      if (!dropped[i]) kept.push_back(std::move((*members)[i]));
    }
    *members = std::move(kept);
    return true;
  }

  const Json::ParseLimits limits_;
  Json root_;
  std::vector<Json> stack_;
  std::vector<std::string> keys_;  // the pending key of each open container
  size_t values_ = 0;
  std::string problem_;
  size_t position_ = 0;
};

Backend to_backend(const Json& json) {
  if (const auto flag = json.as_bool()) return *flag;
  if (json.is_integer()) return *json.as_integer();
  if (json.is_number()) return *json.as_number();
  if (const auto* text = json.as_string()) return *text;
  if (const auto* items = json.as_array()) {
    Backend result = Backend::array();
    for (const Json& item : *items) result.push_back(to_backend(item));
    return result;
  }
  if (const auto* members = json.as_object()) {
    Backend::object_t result;
    result.reserve(members->size());
    for (const auto& [key, value] : *members) {
      // Straight to the vector underneath: the ordered map's own insertion searches each time.
      static_cast<std::vector<Backend::object_t::value_type>&>(result).emplace_back(
          key, to_backend(value));
    }
    return Backend(std::move(result));
  }
  return nullptr;
}

}  // namespace

Json::Json(unsigned long value) {
  constexpr auto kLargest = static_cast<unsigned long>(std::numeric_limits<int64_t>::max());
  if (value <= kLargest) {
    value_ = static_cast<int64_t>(value);
  } else {
    value_ = static_cast<double>(value);
  }
}

Result<Json> Json::parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return Error::damaged("the JSON text is too large")
        .with_expected(fmt::format("at most {} bytes", limits.max_bytes))
        .with_found(fmt::format("{} bytes", text.size()));
  }
  Builder builder(limits);
  if (!Backend::sax_parse(text.begin(), text.end(), &builder)) {
    return Error::damaged("not valid JSON: " + builder.problem()).with_offset(builder.position());
  }
  return builder.take();
}

std::string Json::dump(int indent) const {
  return to_backend(*this).dump(indent, ' ', false, Backend::error_handler_t::replace);
}

std::optional<bool> Json::as_bool() const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  return std::nullopt;
}

std::optional<int64_t> Json::as_integer() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<double>(&value_)) {
    if (std::nearbyint(*value) == *value && std::fabs(*value) < 0x1p53) {
      return static_cast<int64_t>(*value);
    }
  }
  return std::nullopt;
}

std::optional<double> Json::as_number() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  return std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  if (const auto* members = as_object()) {
    for (const auto& [name, value] : *members) {
      if (name == key) return &value;
    }
  }
  return nullptr;
}

const Json& Json::operator[](std::string_view key) const {
  static const Json kNull;
  const Json* member = find(key);
  return member != nullptr ? *member : kNull;
}

Json& Json::set(std::string key, Json value) {
  if (is_null()) value_ = Object();
  auto* members = as_object();
  TRILITH_CHECK(members != nullptr);
  for (auto& [name, current] : *members) {
    if (name == key) {
      current = std::move(value);
      return *this;
    }
  }
  members->emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array();
  TRILITH_CHECK(is_array());
  as_array()->push_back(std::move(value));
  return *this;
}

std::string_view Json::type_name() const {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "an integer", "a number",
                                         "a string", "an array",  "an object"};
  return kNames[value_.index()];
}

Result<Json> read_json_file(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  auto parsed = Json::parse(text);
  if (!parsed.ok()) return std::move(parsed).error().with_file(path);
  return parsed;
}

}  // namespace trilith
