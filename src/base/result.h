// Result<T>: a value, or an Error that says what a user needs to go on: file, tensor, offset,
// expected, found and a hint. Library code returns it for everything that comes from outside
// (files, requests, arguments, environment) and never prints, exits or throws on input.
//
//   Result<Sheet> read_sheet(const std::string& path) {
//     TRILITH_ASSIGN_OR_RETURN(std::string text, read_file(path));
//     if (text.empty()) return Error::damaged("the sheet is empty").with_file(path);
//     ...
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace trilith {

// What went wrong, at the grain of the program's exit codes.
enum class ErrorKind {
  kRuntime,       // exit 1: I/O, memory, an environment that does not allow the work
  kUsage,         // exit 2: the call itself is wrong
  kVerification,  // exit 3: two computations differ
  kDamaged,       // exit 4: the input breaks its own format
  kUnsupported,   // exit 4: understood, but not something this program can do
  kAmbiguous,     // exit 4: the bytes allow several readings and the choice matters
  kInterrupted,   // exit 130
};

int exit_code(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::kRuntime;
  std::string message;  // one sentence, no final full stop
  std::string file;
  std::string tensor;
  std::optional<uint64_t> offset;  // bytes from the start of `file`
  std::string expected;
  std::string found;
  std::string hint;  // the next step for the user

  static Error runtime(std::string message) {
    return make(ErrorKind::kRuntime, std::move(message));
  }
  static Error usage(std::string message) { return make(ErrorKind::kUsage, std::move(message)); }
  static Error verification(std::string message) {
    return make(ErrorKind::kVerification, std::move(message));
  }
  static Error damaged(std::string message) {
    return make(ErrorKind::kDamaged, std::move(message));
  }
  static Error unsupported(std::string message) {
    return make(ErrorKind::kUnsupported, std::move(message));
  }
  static Error ambiguous(std::string message) {
    return make(ErrorKind::kAmbiguous, std::move(message));
  }

  // Each fills one field; file and tensor keep what an inner call already set.
  Error with_file(std::string value) &&;
  Error with_tensor(std::string value) &&;
  Error with_offset(uint64_t value) &&;
  Error with_expected(std::string value) &&;
  Error with_found(std::string value) &&;
  Error with_hint(std::string value) &&;
  // Puts "context: " before the message.
  Error with_context(const std::string& context) &&;

  // "file: tensor 'x': message (at byte 8; expected …; found …); hint", on one line.
  std::string to_string() const;

 private:
  static Error make(ErrorKind kind, std::string message);
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(*-explicit-*)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return (check_ok(), std::get<0>(state_)); }
  const T& value() const& { return (check_ok(), std::get<0>(state_)); }
  T&& value() && { return (check_ok(), std::get<0>(std::move(state_))); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  void check_ok() const { TRILITH_CHECK(ok()); }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace trilith

#define TRILITH_CONCAT_INNER(a, b) a##b
#define TRILITH_CONCAT(a, b) TRILITH_CONCAT_INNER(a, b)

// Declares or assigns `target` from a Result, or returns its error from the calling function.
#define TRILITH_ASSIGN_OR_RETURN(target, expression) \
  TRILITH_ASSIGN_OR_RETURN_INNER(TRILITH_CONCAT(result_at_line_, __LINE__), target, expression)
#define TRILITH_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return std::move(result).error();              \
  target = std::move(result).value()

#define TRILITH_RETURN_IF_ERROR(expression)           \
  do {                                                \
    auto status_of_expression = (expression);         \
    if (!status_of_expression.ok()) {                 \
      return std::move(status_of_expression).error(); \
    }                                                 \
  } while (false)
