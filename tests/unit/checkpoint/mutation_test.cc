// A small valid file, mutated from a fixed seed: parsing never crashes, and whatever still parses
// has views that lie inside the file and tile its data.
#include <gtest/gtest.h>

#include <random>

#include "base/log.h"
#include "checkpoint/safetensors.h"
#include "raw_file.h"

namespace trilith::checkpoint {
namespace {

const std::string& valid_file() {
  static const std::string file = raw_file(
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"U8","shape":[3,4],"data_offsets":[0,12]},)"
      R"("s":{"dtype":"F32","shape":[3],"data_offsets":[12,24]},)"
      R"("e":{"dtype":"F16","shape":[0],"data_offsets":[24,24]},)"
      R"("n":{"dtype":"BF16","shape":[2,1],"data_offsets":[24,28]}})",
      28);
  return file;
}

std::string mutated(std::mt19937_64& random) {
  std::string file = valid_file();
  const size_t header_bytes = file.size() - 28;
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  const size_t edits = 1 + below(3);
  for (size_t i = 0; i < edits; ++i) {
    switch (below(6)) {
      case 0:  // a bit of length or header
        file[below(std::min(header_bytes, file.size()))] ^= static_cast<char>(1 << below(8));
        break;
      case 1:  // cut
        file.resize(std::max<size_t>(1, file.size() - below(std::min<size_t>(file.size(), 40))));
        break;
      case 2:  // a length field of any size
        for (size_t b = 0; b < 8 && b < file.size(); ++b) {
          file[b] = static_cast<char>(below(4) == 0 ? random() : (b < 1 ? random() : 0));
        }
        break;
      case 3:  // trailing bytes
        file.append(1 + below(9), static_cast<char>(random()));
        break;
      default: {  // another digit in a shape or an offset
        std::vector<size_t> digits;
        for (size_t at = 8; at < file.size() && at < header_bytes; ++at) {
          if (file[at] >= '0' && file[at] <= '9') digits.push_back(at);
        }
        if (digits.empty()) break;
        const char replacements[] = "0123456789-e.";
        file[digits[below(digits.size())]] = replacements[below(sizeof(replacements) - 1)];
      }
    }
  }
  return file;
}

TEST(SafetensorsMutations, NeverCrashAndNeverReachOutOfTheFile) {
  ASSERT_TRUE(parse_safetensors(bytes_of(valid_file()), "f").ok());
  std::mt19937_64 random(20240607);
  int parsed = 0;
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    SCOPED_TRACE(round);
    const std::string text = mutated(random);
    const std::vector<char> file(text.begin(), text.end());  // exact size: ASan sees one byte more
    const auto content = parse_safetensors(bytes_of({file.data(), file.size()}), "f");
    if (!content.ok()) {
      ++refused;
      ASSERT_EQ(exit_code(content.error().kind), 4);
      ASSERT_FALSE(content.error().to_string().empty());
      continue;
    }
    ++parsed;
    const auto* begin = reinterpret_cast<const std::byte*>(file.data());
    uint64_t bytes = 0;
    unsigned sum = 0;
    for (const TensorView& tensor : content->tensors) {
      ASSERT_GE(tensor.bytes.data(), begin);
      ASSERT_LE(tensor.bytes.data() + tensor.bytes.size(), begin + file.size());
      ASSERT_EQ(*byte_count(tensor.dtype, tensor.shape), tensor.bytes.size());
      bytes += tensor.bytes.size();
      for (const std::byte byte : tensor.bytes) sum += std::to_integer<unsigned>(byte);
    }
    const auto header = load<uint64_t>(begin);
    ASSERT_EQ(bytes, file.size() - 8 - header);
    ASSERT_GE(sum, 0U);
  }
  // Both sides must be exercised, or the property says nothing.
  EXPECT_GT(parsed, 50);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace trilith::checkpoint
