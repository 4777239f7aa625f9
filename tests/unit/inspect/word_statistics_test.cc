#include "inspect/word_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/splitmix.h"

namespace trilith::inspect {
namespace {

// Fields one by one, as the definition has them.
class Plain {
 public:
  Plain(const std::vector<std::byte>& bytes, size_t rows, int bits)
      : bits_(bits), rows_(rows), width_(bytes.size() / rows) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (int shift = 0; shift < 8; shift += bits) {
        fields_.push_back((std::to_integer<size_t>(bytes[i]) >> shift) & ((size_t{1} << bits) - 1));
      }
    }
  }
  std::vector<uint64_t> counts() const {
    std::vector<uint64_t> counts(size_t{1} << bits_);
    for (const size_t field : fields_) ++counts[field];
    return counts;
  }
  std::vector<uint32_t> rows(size_t mark) const {
    std::vector<uint32_t> result(rows_);
    for (size_t i = 0; i < fields_.size(); ++i) result[i / row_fields()] += fields_[i] == mark;
    return result;
  }
  std::vector<uint32_t> columns(size_t mark) const {
    std::vector<uint32_t> result(row_fields());
    for (size_t i = 0; i < fields_.size(); ++i) result[i % row_fields()] += fields_[i] == mark;
    return result;
  }
  double entropy_of_slot(size_t slot) const {
    std::map<size_t, double> counts;
    double total = 0;
    const auto slots = static_cast<size_t>(32 / bits_);
    for (size_t i = slot; i < fields_.size(); i += slots) ++counts[fields_[i]], ++total;
    double bits = 0;
    for (const auto& [field, count] : counts) bits -= count / total * std::log2(count / total);
    return bits;
  }

 private:
  size_t row_fields() const { return width_ * static_cast<size_t>(8 / bits_); }
  int bits_;
  size_t rows_;
  size_t width_;
  std::vector<size_t> fields_;
};

TEST(WordStatistics, CountsEveryFieldOfEveryWidth) {
  SplitMix64 random(3);
  for (const int bits : {1, 2, 4, 8}) {
    for (const auto& [rows, width] :
         {std::pair<size_t, size_t>{1, 1}, {3, 7}, {255, 8}, {256, 9}, {600, 251}, {2, 2000}}) {
      std::vector<std::byte> bytes(rows * width);
      for (std::byte& byte : bytes) {  // uneven, so that there is a commonest value
        byte = static_cast<std::byte>(random.next() & random.next() & 255);
      }
      const WordStatistics found = word_statistics(bytes, rows, bits);
      const Plain plain(bytes, rows, bits);
      const auto counts = plain.counts();
      const auto mark =
          static_cast<size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
      EXPECT_EQ(found.counts, counts) << bits;
      EXPECT_EQ(found.mark, mark) << bits;
      EXPECT_EQ(found.rows, plain.rows(mark)) << bits << " bits, " << rows << " x " << width;
      EXPECT_EQ(found.columns, plain.columns(mark)) << bits << " bits, " << rows << " x " << width;
      const std::vector<double> slots = found.slot_entropy();
      ASSERT_EQ(slots.size(), static_cast<size_t>(32 / bits));
      for (size_t slot = 0; slot < slots.size() && rows * width >= 4; ++slot) {
        EXPECT_NEAR(slots[slot], plain.entropy_of_slot(slot), 1e-12);
      }
    }
  }
}

TEST(WordStatistics, AScaleAmongTheCodesShowsInItsSlots) {
  SplitMix64 random(4);
  std::vector<std::byte> bytes(4096);
  for (size_t i = 0; i < bytes.size(); ++i) {  // a ternary byte thrice, then a byte of a scale
    const uint64_t draw = random.next();
    bytes[i] = static_cast<std::byte>(i % 4 == 3 ? draw & 255 : (draw & ~(draw >> 1) & 0x55));
  }
  const std::vector<double> slots = word_statistics(bytes, 1, 2).slot_entropy();
  const double codes = *std::max_element(slots.begin(), slots.begin() + 12);
  const double scales = *std::min_element(slots.begin() + 12, slots.end());
  EXPECT_GT(scales, codes + 0.5);
}

}  // namespace
}  // namespace trilith::inspect
