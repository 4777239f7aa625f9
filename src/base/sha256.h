// SHA-256 (FIPS 180-4), for naming files by content in traces and sheets.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace trilith {

// 64 lower-case hex digits.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace trilith
