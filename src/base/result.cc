#include "base/result.h"

#include <fmt/format.h>

namespace trilith {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kRuntime:
      return 1;
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kVerification:
      return 3;
    case ErrorKind::kDamaged:
    case ErrorKind::kUnsupported:
    case ErrorKind::kAmbiguous:
      return 4;
    case ErrorKind::kInterrupted:
      return 130;
  }
  return 1;
}

Error Error::make(ErrorKind kind, std::string message) {
  Error error;
  error.kind = kind;
  error.message = std::move(message);
  return error;
}

Error Error::with_file(std::string value) && {
  if (file.empty()) file = std::move(value);
  return std::move(*this);
}

Error Error::with_tensor(std::string value) && {
  if (tensor.empty()) tensor = std::move(value);
  return std::move(*this);
}

Error Error::with_offset(uint64_t value) && {
  offset = value;
  return std::move(*this);
}

Error Error::with_expected(std::string value) && {
  expected = std::move(value);
  return std::move(*this);
}

Error Error::with_found(std::string value) && {
  found = std::move(value);
  return std::move(*this);
}

Error Error::with_hint(std::string value) && {
  hint = std::move(value);
  return std::move(*this);
}

Error Error::with_context(const std::string& context) && {
  message = context + ": " + message;
  return std::move(*this);
}

namespace {

// One line of printable text: names and values come from hostile files.
std::string printable(const std::string& text) {
  constexpr size_t kMaxShown = 300;
  std::string shown;
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  if (text.size() > kMaxShown) shown += "…";
  return shown;
}

}  // namespace

std::string Error::to_string() const {
  std::string text;
  if (!file.empty()) text += printable(file) + ": ";
  if (!tensor.empty()) text += "tensor '" + printable(tensor) + "': ";
  text += printable(message);
  std::string details;
  const auto add = [&details](const std::string& part) {
    details += (details.empty() ? "" : "; ") + part;
  };
  if (offset) add(fmt::format("at byte {}", *offset));
  if (!expected.empty()) add("expected " + printable(expected));
  if (!found.empty()) add("found " + printable(found));
  if (!details.empty()) text += " (" + details + ")";
  if (!hint.empty()) text += ". Hint: " + printable(hint);
  return text;
}

}  // namespace trilith
