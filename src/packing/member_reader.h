// MemberReader: the members of a JSON object, taken one by one. Remembers the first thing wrong (a
// type, a word that is none of its choices) with the path of its key; finish() also refuses keys
// that nobody took.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "packing/spec_names.h"

namespace trilith::packing {

class MemberReader {
 public:
  // `path` names the object in messages: "law", or "" for the whole.
  MemberReader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) wrong_type("", "an object", json);
  }

  // The member, or null when absent.
  const Json* take(std::string_view key) {
    taken_.emplace_back(key);
    return json_.find(key);
  }

  template <typename T>
  void integer(std::string_view key, T& target) {
    const Json* const json = take(key);
    if (json != nullptr) set_integer(key, *json, target);
  }
  template <typename T>
  void set_integer(std::string_view key, const Json& json, T& target) {
    const auto value = json.as_integer();
    if (!value) return wrong_type(key, "an integer", json);
    if (*value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max()) {
      return refuse(key, "a smaller integer", std::to_string(*value));
    }
    target = static_cast<T>(*value);
  }
  template <typename T>
  void integers(std::string_view key, const Json& json, std::vector<T>& target) {
    const Json::Array* const list = json.as_array();
    if (list == nullptr) return wrong_type(key, "a list of integers", json);
    target.resize(list->size());
    for (size_t i = 0; i < list->size(); ++i) set_integer(key, (*list)[i], target[i]);
  }
  void number(std::string_view key, double& target) {
    const Json* const json = take(key);
    if (json == nullptr) return;
    const auto value = json->as_number();
    if (!value) return wrong_type(key, "a number", *json);
    target = *value;
  }
  void boolean(std::string_view key, bool& target) {
    const Json* const json = take(key);
    if (json == nullptr) return;
    const auto value = json->as_bool();
    if (!value) return wrong_type(key, "true or false", *json);
    target = *value;
  }
  template <typename E, size_t kCount>
  void word(std::string_view key, const std::array<Word<E>, kCount>& words, E& target) {
    const Json* const json = take(key);
    if (json == nullptr) return;
    const std::string* const name = json->as_string();
    if (name == nullptr) return wrong_type(key, "a string", *json);
    const auto value = value_of(words, *name);
    if (!value) {
      std::vector<std::string_view> names;
      for (const auto& entry : words) names.push_back(entry.name);
      return refuse(key, fmt::format("{}", fmt::join(names, " | ")), *name);
    }
    target = *value;
  }
  void dtype(std::string_view key, DType& target) {
    const Json* const json = take(key);
    if (json == nullptr) return;
    const std::string* const name = json->as_string();
    if (name == nullptr) return wrong_type(key, "a dtype", *json);
    const auto value = dtype_from_name(*name);
    if (!value) return refuse(key, "a dtype of safetensors", *name);
    target = *value;
  }

  void wrong_type(std::string_view key, std::string_view expected, const Json& found) {
    refuse(key, std::string(expected), std::string(found.type_name()));
  }
  void refuse(std::string_view key, std::string expected, std::string found) {
    keep(Error::usage(fmt::format("packing spec: bad value of '{}'", path_to(key)))
             .with_expected(std::move(expected))
             .with_found(std::move(found)));
  }
  void keep(Status status) {
    if (!status.ok() && status_.ok()) status_ = std::move(status);
  }

  Status finish() {
    if (!status_.ok()) return status_;
    for (const Json::Member& member : *json_.as_object()) {
      if (std::find(taken_.begin(), taken_.end(), member.first) != taken_.end()) continue;
      return Error::usage(
          fmt::format("packing spec: unknown or misplaced key '{}'", path_to(member.first)));
    }
    return {};
  }
  std::string path_to(std::string_view key) const {
    if (path_.empty()) return std::string(key);
    return key.empty() ? path_ : fmt::format("{}.{}", path_, key);
  }

 private:
  const Json& json_;
  std::string path_;
  std::vector<std::string> taken_;
  Status status_;
};

}  // namespace trilith::packing
