// Float kernels: the same bits as the scalar set, and the scalar set against double with derived
// bounds.
#include <gtest/gtest.h>

#include <bit>

#include "base/half.h"
#include "every_set.h"
#include "kernels/attention.h"

namespace trilith::kernels {
namespace {

class FloatKernels : public EverySet {};
TRILITH_FOR_EVERY_SET(FloatKernels);

TEST_P(FloatKernels, DenseDots) {
  Random random(2);
  for (const Shape& shape : kShapes) {
    const auto weights = random_floats(random, shape.rows * shape.cols);
    std::vector<uint16_t> halves(weights.size());
    std::vector<uint16_t> brains(weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      halves[i] = f16_from_f32(weights[i]);
      if (i % 7 == 3) halves[i] = static_cast<uint16_t>(i % 1024);  // subnormal halves
      brains[i] = bf16_from_f32(weights[i]);
    }
    const auto x = random_floats(random, shape.tokens * shape.cols, 16.0F);
    const auto run = [&](auto member, const void* w) {
      return [&, member, w](const KernelSet& s) {
        std::vector<float> out(static_cast<size_t>(shape.tokens * (shape.rows + 1)), 7.0F);
        (s.*member)({w, shape.rows, shape.cols, shape.cols, x.data(), shape.cols, shape.tokens,
                     out.data(), shape.rows + 1});
        return out;
      };
    };
    expect_as_scalar(run(&KernelSet::dense_f32, weights.data()), "f32 " + text(shape));
    expect_as_scalar(run(&KernelSet::dense_f16, halves.data()), "f16 " + text(shape));
    expect_as_scalar(run(&KernelSet::dense_bf16, brains.data()), "bf16 " + text(shape));
    // Against double: 16 lanes of ceil(K/16) fused terms and 4 tree levels round at most that
    // often.
    const int64_t additions = shape.cols / 16 + 5;
    const auto out = run(&KernelSet::dense_f32, weights.data())(set());
    for (int64_t t = 0; t < shape.tokens; ++t) {
      for (int64_t n = 0; n < shape.rows; ++n) {
        double truth = 0;
        double magnitude = 0;
        for (int64_t k = 0; k < shape.cols; ++k) {
          const double term =
              static_cast<double>(weights[static_cast<size_t>(n * shape.cols + k)]) *
              static_cast<double>(x[static_cast<size_t>(t * shape.cols + k)]);
          truth += term;
          magnitude += std::abs(term);
        }
        const double bound = magnitude * (static_cast<double>(additions) * 0x1p-24) * 1.01;
        ASSERT_NEAR(static_cast<double>(out[static_cast<size_t>(t * (shape.rows + 1) + n)]), truth,
                    bound + 1e-300)
            << text(shape);
      }
    }
  }
}

TEST_P(FloatKernels, ElementwiseKernels) {
  Random random(5);
  for (const int64_t n : kLengths) {
    auto a = random_floats(random, n, 4.0F);
    const auto b = random_floats(random, n);
    // NaN of both signs and with a payload: what comes out is the canonical one.
    for (const float special :
         {0.0F, kNan, -kNan, std::bit_cast<float>(0x7fc12345U), kInfinity, -kInfinity, -0.0F}) {
      if (special != 0.0F || std::signbit(special)) a[random() % a.size()] = special;
      const std::string where = "n " + std::to_string(n) + " special " + std::to_string(special);
      const auto unary = [&](auto kernel) {
        return [&, kernel](const KernelSet& s) {
          std::vector<float> out(static_cast<size_t>(n + 1), 7.0F);
          kernel(s, out.data());
          return out;
        };
      };
      expect_as_scalar(unary([&](const KernelSet& s, float* out) {
                         s.rms_norm(a.data(), b.data(), n, 1e-5F, out);
                       }),
                       "rms_norm " + where);
      expect_as_scalar(
          unary([&](const KernelSet& s, float* out) { s.silu_mul(a.data(), b.data(), n, out); }),
          "silu_mul " + where);
      expect_as_scalar(
          unary([&](const KernelSet& s, float* out) { s.relu2_mul(a.data(), b.data(), n, out); }),
          "relu2_mul " + where);
      expect_as_scalar(
          unary([&](const KernelSet& s, float* out) { s.add(a.data(), b.data(), n, out); }),
          "add " + where);
      expect_as_scalar(
          [&](const KernelSet& s) {
            std::vector<float> out = a;
            const SoftmaxState state = s.softmax(out.data(), n, 0.7F);
            out.push_back(state.maximum);
            out.push_back(state.sum);
            return out;
          },
          "softmax " + where);
    }
  }
}

TEST_P(FloatKernels, RopeAndWeightedSum) {
  Random random(6);
  for (const int64_t dim : {2, 6, 16, 24, 64, 80, 128, 200}) {
    const auto table = random_floats(random, dim);
    const auto x = random_floats(random, 3 * dim);
    expect_as_scalar(
        [&](const KernelSet& s) {
          std::vector<float> out = x;
          s.rope(out.data(), 3, dim, table.data(), table.data() + dim / 2);
          return out;
        },
        "rope " + std::to_string(dim));
    for (const int64_t n : {0, 1, 5, 128}) {
      const auto weights = random_floats(random, n);
      const auto rows = random_floats(random, n * (dim + 3));
      expect_as_scalar(
          [&](const KernelSet& s) {
            std::vector<float> out(static_cast<size_t>(dim + 1), 7.0F);
            s.weighted_sum(weights.data(), n, rows.data(), dim + 3, dim, out.data());
            return out;
          },
          "weighted_sum " + std::to_string(dim) + " " + std::to_string(n));
    }
  }
}

// exp in vectors is the exp of scalar_math.h on every kind of input: reached through softmax.
TEST_P(FloatKernels, VectorExpIsScalarExp) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> scores(37);
    for (float& s : scores) s = std::bit_cast<float>(static_cast<uint32_t>(random()));
    scores[0] = static_cast<float>(round) * 0.06F;
    expect_as_scalar(
        [&](const KernelSet& s) {
          std::vector<float> out = scores;
          s.softmax(out.data(), static_cast<int64_t>(out.size()), 1.0F);
          return out;
        },
        "round " + std::to_string(round));
    if (HasFailure()) return;
  }
}

TEST_P(FloatKernels, ElementwiseAgainstDouble) {
  Random random(8);
  const int64_t n = 1000;
  const auto x = random_floats(random, n);
  const auto y = random_floats(random, n);
  std::vector<float> out(static_cast<size_t>(n));
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  set().rms_norm(x.data(), y.data(), n, 1e-5F, out.data());
  for (size_t i = 0; i < out.size(); ++i) {
    const double truth = static_cast<double>(x[i]) *
                         (1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5)) *
                         static_cast<double>(y[i]);
    // Sum: 63 + 4 roundings, halved by the root; mean, eps, root, reciprocal, two products.
    ASSERT_NEAR(static_cast<double>(out[i]), truth, std::abs(truth) * (67.0 / 2 + 6) * 0x1p-24);
  }
  set().silu_mul(x.data(), y.data(), n, out.data());
  for (size_t i = 0; i < out.size(); ++i) {
    const double g = static_cast<double>(x[i]);
    const double truth = g / (1.0 + std::exp(-g)) * static_cast<double>(y[i]);
    // exp 1 ulp (2 · 2^-24), then sum, quotient, product.
    ASSERT_NEAR(static_cast<double>(out[i]), truth, std::abs(truth) * 5.01 * 0x1p-24 + 1e-44);
  }
  std::vector<float> scores = x;
  const SoftmaxState state = set().softmax(scores.data(), n, 2.0F);
  double sum = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double exponent = 2.0 * static_cast<double>(x[i]) - static_cast<double>(state.maximum);
    const double truth = std::exp(exponent);
    sum += truth;
    ASSERT_NEAR(static_cast<double>(scores[i]), truth,
                truth * (2.01 + std::abs(exponent)) * 0x1p-24 + 1e-44);
  }
  ASSERT_NEAR(static_cast<double>(state.sum), sum, sum * 80 * 0x1p-24);
}

TEST_P(FloatKernels, AttentionIsAsWrittenAndIgnoresChunks) {
  Random random(9);
  const int64_t dim = 24;
  const int64_t heads = 3;
  // Keys before `first` lie outside the window, also in the middle of a block.
  const std::pair<int64_t, int64_t> ranges[] = {{0, 1},   {0, 2},     {0, 127},   {0, 128},
                                                {0, 129}, {0, 300},   {0, 513},   {5, 6},
                                                {3, 90},  {127, 129}, {128, 300}, {200, 513}};
  for (const auto& range : ranges) {
    const int64_t first = range.first;
    const int64_t count = range.second;
    const auto q = random_floats(random, heads * dim);
    const auto keys = random_floats(random, count * dim);
    const auto values = random_floats(random, count * dim);
    const auto run = [&](const KernelSet& s) {
      std::vector<float> scratch;
      std::vector<float> out(static_cast<size_t>(heads * dim), 7.0F);
      attend(
          s,
          {q.data(), heads, dim, keys.data(), values.data(), dim, first, count, 0.2F, out.data()},
          scratch);
      return out;
    };
    expect_as_scalar(run, "keys " + std::to_string(first) + " to " + std::to_string(count));
    const auto out = run(set());
    for (int64_t h = 0; h < heads; ++h) {
      std::vector<double> weights(static_cast<size_t>(count));
      double total = 0;
      double largest = 0;
      for (int64_t j = first; j < count; ++j) {
        double dot = 0;
        double magnitude = 0;
        for (int64_t d = 0; d < dim; ++d) {
          const double term = static_cast<double>(q[static_cast<size_t>(h * dim + d)]) *
                              static_cast<double>(keys[static_cast<size_t>(j * dim + d)]);
          dot += term;
          magnitude += std::abs(term);
        }
        largest = std::max(largest, 0.2 * magnitude);
        weights[static_cast<size_t>(j)] = std::exp(dot * static_cast<double>(0.2F));
        total += weights[static_cast<size_t>(j)];
      }
      for (int64_t d = 0; d < dim; ++d) {
        double truth = 0;
        double magnitude = 0;
        for (int64_t j = first; j < count; ++j) {
          const double term = weights[static_cast<size_t>(j)] / total *
                              static_cast<double>(values[static_cast<size_t>(j * dim + d)]);
          truth += term;
          magnitude += std::abs(term);
        }
        // A score is off by at most 9 roundings of its magnitude, which the exponential turns into
        // a relative error of every weight, twice (weight and total); a block of 128 fused terms.
        const double bound = magnitude * (2 * (9 * largest + 4) + 140) * 0x1p-24;
        ASSERT_NEAR(static_cast<double>(out[static_cast<size_t>(h * dim + d)]), truth, bound);
      }
    }
  }
}

}  // namespace
}  // namespace trilith::kernels
