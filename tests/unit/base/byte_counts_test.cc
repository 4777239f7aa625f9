#include "base/byte_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/splitmix.h"

namespace trilith {
namespace {

// Both ways of counting, their change from block to block, tails, and buffers that start anywhere.
TEST(ByteCounts, CountsEveryByte) {
  SplitMix64 random(1);
  for (const uint64_t values : {1U, 3U, 4U, 5U, 16U, 256U}) {
    for (const size_t count : {0U, 1U, 63U, 64U, 65U, 8160U, 8161U, 16400U, 100001U}) {
      std::vector<uint8_t> bytes(count + 1);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.below(values));
      if (count > 10000) bytes[9000] = 255;  // one block is not small
      const auto part = std::span<const uint8_t>(bytes).subspan(1);
      ByteCounts expected{};
      for (const uint8_t byte : part) ++expected[byte];
      ByteCounts found{};
      add_byte_counts(part, found);
      EXPECT_EQ(found, expected) << values << " values, " << count << " bytes";
      add_byte_counts(part, found);
      for (uint64_t& twice : expected) twice *= 2;
      EXPECT_EQ(found, expected) << "added to what was there";
    }
  }
}

}  // namespace
}  // namespace trilith
