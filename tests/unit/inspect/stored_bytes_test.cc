// Bytes that are no weights are told from packed weights, which pass whatever their packing.
#include "inspect/stored_bytes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "synthetic.h"

namespace trilith::inspect {
namespace {

using testing::strengths;
using testing::TensorStore;
using testing::ternary;

// A tensor of `bytes` under one name.
class StoredBytes : public ::testing::Test {
 protected:
  TensorView bytes_as(DType dtype, std::vector<std::byte> bytes) {
    const auto words = static_cast<int64_t>(bytes.size() / dtype_size(dtype));
    store_.add(fmt::format("t{}", store_.views().size()), dtype, {words}, std::move(bytes));
    return store_.views().back();
  }
  // 2-bit codes of a matrix with strong and weak rows and columns.
  std::vector<std::byte> packed(int64_t rows, int64_t cols) {
    packing::PackingSpec spec;
    spec.law.slots = 4;
    spec.code_table = packing::CodeTable::list({0.0, 1.0, -1.0, std::nullopt});
    spec.scale.index = packing::Scale::Index::kRow;
    const auto matrix = ternary(random_, strengths(random_, static_cast<size_t>(rows)),
                                strengths(random_, static_cast<size_t>(cols)));
    return packing::encode(spec, testing::to_quant(matrix, spec))->at("codes").bytes;
  }
  // 4-bit codes, a Gaussian of this width.
  std::vector<std::byte> nibbles(size_t count, double width) {
    std::normal_distribution<double> normal(8, width);
    std::vector<std::byte> bytes;
    const auto draw = [&] { return std::clamp(std::lround(normal(random_)), 0L, 15L); };
    for (size_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<std::byte>(draw() | draw() << 4));
    }
    return bytes;
  }
  std::mt19937_64 random_{7};
  TensorStore store_;
};

TEST_F(StoredBytes, PackedWeightsPass) {
  for (const int64_t rows : {32, 256}) {
    const Status status = like_packed_weights(bytes_as(DType::kU8, packed(rows, 256)));
    EXPECT_TRUE(status.ok()) << status.error().to_string();
  }
  const Status status = like_packed_weights(bytes_as(DType::kI32, nibbles(8192, 2.5)));
  EXPECT_TRUE(status.ok()) << status.error().to_string();
}

TEST_F(StoredBytes, OutlierRowsUnderOneScalePass) {
  std::vector<std::byte> bytes = nibbles(8192, 0.8);
  const std::vector<std::byte> wide = nibbles(1024, 5);
  std::copy(wide.begin(), wide.end(), bytes.begin() + 2048);
  const Status status = like_packed_weights(bytes_as(DType::kU8, bytes));
  EXPECT_TRUE(status.ok()) << status.error().to_string();
}

TEST_F(StoredBytes, HalfATensorOfPaddingPasses) {
  std::vector<std::byte> bytes = packed(256, 256);
  std::fill(bytes.begin() + 8192, bytes.end(), std::byte{0});
  const Status status = like_packed_weights(bytes_as(DType::kU8, bytes));
  EXPECT_TRUE(status.ok()) << status.error().to_string();
}

TEST_F(StoredBytes, CountersPicturesAndTextAreNoWeights) {
  std::vector<std::byte> ramp;
  std::vector<std::byte> picture;
  std::vector<std::byte> wide_ramp;
  std::normal_distribution<double> noise(0, 4);
  for (int i = 0; i < 8192; ++i) {
    ramp.push_back(static_cast<std::byte>(i * 3));
    const double shade = 128 + 60 * std::sin((i - i % 64) * 0.0016) + 50 * std::cos(i % 64 * 0.09);
    picture.push_back(static_cast<std::byte>(std::clamp(shade + noise(random_), 0.0, 255.0)));
    if (i % 4 == 0) {
      for (const int shift : {0, 8, 16, 24}) {
        wide_ramp.push_back(static_cast<std::byte>(i >> shift));
      }
    }
  }
  for (const TensorView& tensor : {bytes_as(DType::kU8, ramp), bytes_as(DType::kU8, picture),
                                   bytes_as(DType::kI32, wide_ramp)}) {
    const Status status = like_packed_weights(tensor);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().to_string().find("not packed weights"), std::string::npos);
  }
}

TEST_F(StoredBytes, ANoisePageIsFoundWhereItLies) {
  for (std::vector<std::byte> bytes : {packed(256, 256), nibbles(16384, 2.0)}) {
    for (size_t i = 5000; i < 8000; ++i) bytes[i] = static_cast<std::byte>(random_() & 255);
    const auto page = noise_page(bytes_as(DType::kU8, bytes));
    ASSERT_TRUE(page.has_value());
    EXPECT_NEAR(static_cast<double>(page->begin), 5000, 40);
    EXPECT_NEAR(static_cast<double>(page->end), 8000, 40);
  }
}

TEST_F(StoredBytes, TwoPackingsInOneTensorAreToldApart) {
  std::vector<std::byte> bytes = packed(256, 256);  // no code 3
  const std::vector<std::byte> other = nibbles(8192, 2.0);
  std::copy(other.begin(), other.end(), bytes.begin() + 8192);
  const auto change = alphabet_change(bytes_as(DType::kU8, bytes));
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->code, 3);
  EXPECT_NEAR(static_cast<double>(change->begin), 8192, 32);
  EXPECT_EQ(change->end, 16384U);
}

TEST_F(StoredBytes, NoiseAllOverIsNoPage) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 8192; ++i) bytes.push_back(static_cast<std::byte>(random_() & 255));
  EXPECT_FALSE(noise_page(bytes_as(DType::kU8, bytes)).has_value());
}

}  // namespace
}  // namespace trilith::inspect
