// Panel dots, scaling and activation quantisation: exact, at edge sizes and at the ends of the
// range.
#include <gtest/gtest.h>

#include <algorithm>

#include "every_set.h"
#include "kernels/panels.h"
#include "kernels/scalar_math.h"

namespace trilith::kernels {
namespace {

class IntegerKernels : public EverySet {};
TRILITH_FOR_EVERY_SET(IntegerKernels);

std::vector<int32_t> run_panels(const KernelSet& set, const Panels& panels,
                                const std::vector<int8_t>& x, const Shape& shape,
                                const std::vector<int32_t>& subtract) {
  std::vector<int32_t> acc(static_cast<size_t>(shape.tokens * panels.padded_rows()), 77);
  panel_dot(set, panels, 0, panels.panel_count, x.data(), panels.padded_cols(), shape.tokens,
            subtract.data(), acc.data(), panels.padded_rows());
  return acc;
}

TEST_P(IntegerKernels, PanelDotsAreExact) {
  Random random(1);
  const int ranges[][2] = {{-1, 1}, {-1, 2}, {-2, 1}, {0, 3}, {-128, 127}, {-8, 7}, {1, 1}};
  for (const Shape& shape : kShapes) {
    for (const auto& range : ranges) {
      const auto weights = random_integers(random, shape.rows * shape.cols, range[0], range[1]);
      const Panels panels = *pack_panels(weights, shape.rows, shape.cols);
      std::vector<int8_t> x(static_cast<size_t>(shape.tokens * panels.padded_cols()));
      std::vector<int32_t> subtract(static_cast<size_t>(shape.tokens));
      for (int64_t t = 0; t < shape.tokens; ++t) {
        const auto row = random_integers(random, shape.cols, -128, 127);
        std::copy(row.begin(), row.end(), x.begin() + t * panels.padded_cols());
        int32_t sum = 0;
        for (const int8_t v : row) sum += v;
        subtract[static_cast<size_t>(t)] = panels.code_offset * sum;
      }
      const auto acc = run_panels(set(), panels, x, shape, subtract);
      for (int64_t t = 0; t < shape.tokens; ++t) {
        for (int64_t n = 0; n < shape.rows; ++n) {
          int64_t truth = 0;
          for (int64_t k = 0; k < shape.cols; ++k) {
            truth += weights[static_cast<size_t>(n * shape.cols + k)] *
                     x[static_cast<size_t>(t * panels.padded_cols() + k)];
          }
          ASSERT_EQ(acc[static_cast<size_t>(t * panels.padded_rows() + n)], truth)
              << text(shape) << " levels " << range[0] << " … " << range[1] << " token " << t
              << " row " << n;
        }
      }
    }
  }
}

// All weights and activations at their ends: what a 16-bit accumulator flushed too late, or a
// 32-bit one too narrow, gets wrong. The levels go round the rows, so that each of the four fields
// of a byte holds each of them; a width ends within a run of lines, one is a real model's, one the
// widest there may be.
TEST_P(IntegerKernels, PanelDotsDoNotOverflow) {
  constexpr int kLevels[] = {-1, 0, 1, 2};
  for (const int64_t cols : {int64_t{1028}, int64_t{6912}, kMaxPanelColumns}) {
    std::vector<int8_t> weights;
    weights.reserve(static_cast<size_t>(64 * cols));
    for (int64_t n = 0; n < 64; ++n) {
      weights.insert(weights.end(), static_cast<size_t>(cols), static_cast<int8_t>(kLevels[n % 4]));
    }
    const Panels panels = *pack_panels(weights, 64, cols);
    ASSERT_EQ(panels.bits, 2);
    // Every number of tokens that is computed together; alone, each activation.
    for (const std::vector<int>& activations :
         {std::vector{-128}, {127}, {64}, {-128, 127}, {127, -128, 64, -128}}) {
      std::vector<int8_t> x;
      std::vector<int32_t> subtract;
      for (const int activation : activations) {
        x.insert(x.end(), static_cast<size_t>(cols), static_cast<int8_t>(activation));
        subtract.push_back(panels.code_offset * activation * static_cast<int32_t>(cols));
      }
      const auto tokens = static_cast<int64_t>(activations.size());
      const auto acc = run_panels(set(), panels, x, {64, cols, tokens}, subtract);
      for (size_t i = 0; i < acc.size(); ++i) {
        ASSERT_EQ(acc[i], kLevels[i % 4] * activations[i / 64] * cols)
            << cols << " columns, activation " << activations[i / 64] << ", row " << i % 64;
      }
    }
  }
  const int64_t cols = 16384;
  const std::vector<int8_t> weights(static_cast<size_t>(16 * cols), -128);
  Panels panels = *pack_panels(weights, 16, cols);
  ASSERT_EQ(panels.bits, 2);  // a constant needs no more
  std::vector<int8_t> mixed = weights;
  for (int64_t n = 0; n < 16; ++n) mixed[static_cast<size_t>(n * cols)] = 127;
  panels = *pack_panels(mixed, 16, cols);
  ASSERT_EQ(panels.bits, 8);
  const std::vector<int8_t> x(static_cast<size_t>(cols), -128);
  for (const int32_t acc : run_panels(set(), panels, x, {16, cols, 1}, {0})) {
    ASSERT_EQ(acc, 128 * 128 * (cols - 1) - 127 * 128);
  }
}

TEST_P(IntegerKernels, ScalesAccumulators) {
  Random random(3);
  for (const int64_t n : kLengths) {
    std::vector<int32_t> acc(static_cast<size_t>(n));
    std::vector<int32_t> low(acc.size());
    std::vector<int32_t> sums(acc.size());
    for (auto* values : {&acc, &low, &sums}) {
      for (int32_t& v : *values) v = static_cast<int32_t>(random());
    }
    const auto scale = random_floats(random, n);
    const auto bias = random_floats(random, n, 1e3F);
    for (const float token_scale : {0.037F, kNan}) {
      for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
        for (const bool wide : {false, true}) {
          const auto run = [&](const KernelSet& s) {
            std::vector<float> out(static_cast<size_t>(n + 1), 7.0F);
            const ScaleRows rows = {acc.data(), low.data(),  sums.data(), scale.data(),
                                    b,          token_scale, n,           out.data()};
            wide ? s.scale_a16(rows) : s.scale_a8(rows);
            return out;
          };
          expect_as_scalar(run, "n " + std::to_string(n));
          if (token_scale != token_scale) {
            ASSERT_EQ(std::bit_cast<uint32_t>(run(set())[0]), kCanonicalNanBits);
          } else if (wide && b == nullptr) {
            const double exact = 256.0 * acc[0] + low[0] + 128.0 * sums[0];
            ASSERT_EQ(run(set())[0], static_cast<float>(exact) * token_scale * scale[0]);
          }
        }
      }
    }
  }
}

struct Quantised {
  std::vector<int8_t> codes, low;
  float s, step;
  int32_t sum, low_sum;
};

Quantised quantise(const KernelSet& set, const std::vector<float>& x, bool wide) {
  const auto n = static_cast<int64_t>(x.size());
  const int64_t padded = (n + 3) / 4 * 4 + 4;
  Quantised q{std::vector<int8_t>(static_cast<size_t>(padded), 55),
              std::vector<int8_t>(static_cast<size_t>(padded), 55),
              0,
              0,
              0,
              0};
  QuantiseRow row = {x.data(), n, padded, q.codes.data(), wide ? q.low.data() : nullptr, 0,
                     0,        0, 0};
  wide ? set.quantise_a16(&row) : set.quantise_a8(&row);
  q.s = row.s;
  q.step = row.step;
  q.sum = row.sum;
  q.low_sum = row.low_sum;
  return q;
}

TEST_P(IntegerKernels, QuantisesActivations) {
  Random random(4);
  for (const int64_t n : kLengths) {
    for (const float spread : {1.0F, 1e-7F, 1e30F, 0.0F}) {
      for (const bool wide : {false, true}) {
        const auto x = random_floats(random, n, spread);
        const Quantised q = quantise(set(), x, wide);
        const Quantised s = quantise(scalar_kernels, x, wide);
        ASSERT_TRUE(same_bits(q.codes, s.codes)) << n;
        ASSERT_TRUE(same_bits(q.low, s.low)) << n;
        ASSERT_EQ(std::bit_cast<uint32_t>(q.step), std::bit_cast<uint32_t>(s.step));
        ASSERT_EQ(std::bit_cast<uint32_t>(q.s), std::bit_cast<uint32_t>(s.s));
        ASSERT_EQ(q.sum, s.sum);
        ASSERT_EQ(q.low_sum, s.low_sum);
        // The code is the nearest integer to x / scale, up to one rounding of x · s.
        for (size_t i = 0; i < x.size(); ++i) {
          const int code = wide ? 256 * q.codes[i] + q.low[i] + 128 : q.codes[i];
          const double wanted = static_cast<double>(x[i]) / static_cast<double>(q.step);
          ASSERT_NEAR(code, wanted, 0.5 + (wide ? 32767 : 127) * 0x1p-22) << x[i];
        }
      }
    }
  }
}

TEST_P(IntegerKernels, QuantisationEdges) {
  // Ties go to the even code: s = 127 exactly.
  const std::vector<float> ties = {1.0F, 0.5F / 127, 1.5F / 127, -0.5F / 127, -2.5F / 127, -1.0F};
  const Quantised q = quantise(set(), ties, false);
  EXPECT_EQ(q.codes[0], 127);
  EXPECT_EQ(q.codes[5], -127);
  const std::vector<float> exact_ties = {127.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 3.0F};
  EXPECT_EQ(quantise(set(), exact_ties, false).codes,
            (std::vector<int8_t>{127, 0, 2, 2, 0, -2, -2, 3, 0, 0, 0, 0}));
  // Largest code of 16 bits needs the planes' own offset: 32767 = 256 · 127 + 127 + 128.
  const Quantised wide = quantise(set(), {1.0F, -1.0F, 0.0F}, true);
  EXPECT_EQ(256 * wide.codes[0] + wide.low[0] + 128, 32767);
  EXPECT_EQ(256 * wide.codes[1] + wide.low[1] + 128, -32767);
  EXPECT_EQ(256 * wide.codes[2] + wide.low[2] + 128, 0);
  // The smallest range that is still spread over all codes, and a row of zeros.
  EXPECT_EQ(quantise(set(), {1e-6F}, false).s, 127.0F / 1e-5F);
  EXPECT_EQ(quantise(set(), {2e-5F}, false).s, 127.0F / 2e-5F);
  EXPECT_EQ(quantise(set(), {1e-6F}, true).s, 32767.0F / 1e-6F);
  EXPECT_EQ(quantise(set(), {0.0F, 0.0F}, true).s, 1.0F);
  // Nothing infinite or NaN disappears into integers.
  for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
    for (const size_t at : {0U, 8U, 12U}) {
      for (const bool w : {false, true}) {
        std::vector<float> x(13, 0.25F);
        x[at] = bad;
        const Quantised poisoned = quantise(set(), x, w);
        EXPECT_EQ(std::bit_cast<uint32_t>(poisoned.step), kCanonicalNanBits);
        EXPECT_EQ(poisoned.codes, std::vector<int8_t>(poisoned.codes.size(), 0));
        EXPECT_EQ(poisoned.sum, 0);
      }
    }
  }
}

TEST_P(IntegerKernels, CountsItsCalls) {
  const KernelSet& chosen = set();
  const uint64_t before = chosen.counters->calls[kOpAdd];
  const uint64_t scalar_before = scalar_counters.calls[kOpAdd];
  const float x = 1;
  float out = 0;
  chosen.add(&x, &x, 1, &out);
  EXPECT_EQ(chosen.counters->calls[kOpAdd], before + 1);
  if (GetParam() != "scalar") {
    EXPECT_EQ(scalar_counters.calls[kOpAdd], scalar_before);
  }
}

}  // namespace
}  // namespace trilith::kernels
