// Whether bytes are UTF-8 as RFC 3629 defines it (no surrogates, no overlong forms). Tensor names
// end in JSON headers and reports, which hold nothing else.
#pragma once

#include <string_view>

namespace trilith::checkpoint {

inline bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xc2 ? 0
                          : lead < 0xe0 ? 2
                          : lead < 0xf0 ? 3
                          : lead < 0xf5 ? 4
                                        : 0;
    if (length == 0 || length > text.size() - i) return false;
    for (size_t j = 1; j < length; ++j) {
      const auto byte = static_cast<unsigned char>(text[i + j]);
      // The second byte has tighter bounds after E0, ED, F0 and F4.
      const unsigned low = j == 1 && lead == 0xe0 ? 0xa0 : j == 1 && lead == 0xf0 ? 0x90 : 0x80;
      const unsigned high = j == 1 && lead == 0xed ? 0x9f : j == 1 && lead == 0xf4 ? 0x8f : 0xbf;
      if (byte < low || byte > high) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace trilith::checkpoint
