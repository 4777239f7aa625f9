#include <cstring>
#include <string>
#include <vector>

#include "base/splitmix.h"
#include "kernels/float_environment.h"
#include "kernels/panels.h"
#include "kernels/registry.h"

namespace trilith::kernels {
namespace {

// Small enough to take microseconds, odd enough to meet every tail.
constexpr int64_t kRows = 70;
constexpr int64_t kCols = 83;
constexpr int64_t kTokens = 3;

class Inputs {
 public:
  uint64_t next() { return random_.next(); }
  std::vector<float> floats(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) {
      value = static_cast<float>(static_cast<int64_t>(next() >> 40) - (1 << 23)) * 0x1p-21F;
    }
    return values;
  }
  std::vector<int8_t> integers(int64_t n, int low, int count) {
    std::vector<int8_t> values(static_cast<size_t>(n));
    for (int8_t& value : values) {
      value = static_cast<int8_t>(low + static_cast<int>(next() % static_cast<uint64_t>(count)));
    }
    return values;
  }

 private:
  SplitMix64 random_{0x7472696c697468ULL};
};

// Runs one kernel of two sets on the same inputs and compares the bits of what they wrote.
class Comparison {
 public:
  Comparison(const KernelSet& set) : sets_{&set, &scalar_kernels} {}  // NOLINT(*-explicit-*)

  template <typename Value, typename Run>
  void equal(std::string_view kernel, int64_t count, Run run) {
    std::vector<Value> results[2];
    for (int i = 0; i < 2; ++i) {
      results[i].assign(static_cast<size_t>(count), Value{});
      run(*sets_[i], results[i].data());
    }
    const bool same =
        std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(Value)) == 0;
    if (!same && first_.empty()) first_ = kernel;
  }
  const std::string& first() const { return first_; }

 private:
  const KernelSet* sets_[2];
  std::string first_;
};

void check_integers(Comparison& compare, Inputs& inputs) {
  for (const int bits : {2, 8}) {
    const auto weights = bits == 2 ? inputs.integers(kRows * kCols, -1, 4)
                                   : inputs.integers(kRows * kCols, -128, 256);
    const Panels panels = *pack_panels(weights, kRows, kCols);
    auto x = inputs.integers(kTokens * panels.padded_cols(), -128, 256);
    const std::vector<int32_t> subtract = {0, -5, 1 << 20};
    const int64_t stride = panels.padded_rows();
    compare.equal<int32_t>(bits == 2 ? "panel2_dot" : "panel8_dot", kTokens * stride,
                           [&](const KernelSet& set, int32_t* out) {
                             panel_dot(set, panels, 0, panels.panel_count, x.data(),
                                       panels.padded_cols(), kTokens, subtract.data(), out, stride);
                           });
  }
  std::vector<int32_t> acc(kRows);
  for (int32_t& value : acc) value = static_cast<int32_t>(inputs.next());
  const auto scale = inputs.floats(kRows);
  const auto bias = inputs.floats(kRows);
  for (const bool wide : {false, true}) {
    compare.equal<float>(wide ? "scale_a16" : "scale_a8", kRows,
                         [&](const KernelSet& set, float* out) {
                           const ScaleRows rows = {.acc = acc.data(),
                                                   .low = acc.data(),
                                                   .row_sums = acc.data(),
                                                   .row_scale = scale.data(),
                                                   .bias = bias.data(),
                                                   .token_scale = 0x1.23456p-7F,
                                                   .count = kRows,
                                                   .out = out};
                           wide ? set.scale_a16(rows) : set.scale_a8(rows);
                         });
    const auto x = inputs.floats(kCols);
    compare.equal<int8_t>(wide ? "quantise_a16" : "quantise_a8", 2 * (kCols + 5) + 16,
                          [&](const KernelSet& set, int8_t* out) {
                            QuantiseRow row = {.x = x.data(),
                                               .count = kCols,
                                               .padded = kCols + 5,
                                               .codes = out,
                                               .low = out + kCols + 5,
                                               .s = 0,
                                               .step = 0,
                                               .sum = 0,
                                               .low_sum = 0};
                            wide ? set.quantise_a16(&row) : set.quantise_a8(&row);
                            int8_t* end = out + 2 * (kCols + 5);
                            std::memcpy(end, &row.step, 4);
                            std::memcpy(end + 4, &row.sum, 4);
                            std::memcpy(end + 8, &row.low_sum, 4);
                            std::memcpy(end + 12, &row.s, 4);
                          });
  }
}

void check_dense(Comparison& compare, Inputs& inputs) {
  const auto weights = inputs.floats(kRows * kCols);
  std::vector<uint16_t> halves(weights.size());
  // Any bits but infinities and NaN: exponent at most 0x1e (half) and 0xfd (bfloat16).
  for (uint16_t& half : halves) half = static_cast<uint16_t>(inputs.next() & 0xbbffU);
  const auto x = inputs.floats(kTokens * kCols);
  const auto dot = [&](const void* w, float* out) {
    return DenseDot{w, kRows, kCols, kCols, x.data(), kCols, kTokens, out, kRows};
  };
  const int64_t count = kTokens * kRows;
  compare.equal<float>("dense_f32", count, [&](const KernelSet& set, float* out) {
    set.dense_f32(dot(weights.data(), out));
  });
  compare.equal<float>("dense_f16", count, [&](const KernelSet& set, float* out) {
    set.dense_f16(dot(halves.data(), out));
  });
  compare.equal<float>("dense_bf16", count, [&](const KernelSet& set, float* out) {
    set.dense_bf16(dot(halves.data(), out));
  });
}

void check_floats(Comparison& compare, Inputs& inputs) {
  const auto a = inputs.floats(kRows * kCols);
  const auto b = inputs.floats(kRows * kCols);
  compare.equal<float>("rms_norm", kCols, [&](const KernelSet& set, float* out) {
    set.rms_norm(a.data(), b.data(), kCols, 1e-5F, out);
  });
  compare.equal<float>("rope", 2 * 22, [&](const KernelSet& set, float* out) {
    std::memcpy(out, a.data(), sizeof(float) * 2 * 22);
    set.rope(out, 2, 22, b.data(), b.data() + 11);
  });
  compare.equal<float>("silu_mul", kCols, [&](const KernelSet& set, float* out) {
    set.silu_mul(a.data(), b.data(), kCols, out);
  });
  compare.equal<float>("relu2_mul", kCols, [&](const KernelSet& set, float* out) {
    set.relu2_mul(a.data(), b.data(), kCols, out);
  });
  compare.equal<float>("add", kCols, [&](const KernelSet& set, float* out) {
    set.add(a.data(), b.data(), kCols, out);
  });
  compare.equal<float>("softmax", kCols + 2, [&](const KernelSet& set, float* out) {
    std::memcpy(out, a.data(), sizeof(float) * kCols);
    const SoftmaxState state = set.softmax(out, kCols, 0.125F);
    out[kCols] = state.maximum;
    out[kCols + 1] = state.sum;
  });
  compare.equal<float>("weighted_sum", kCols, [&](const KernelSet& set, float* out) {
    set.weighted_sum(b.data(), kRows, a.data(), kCols, kCols, out);
  });
}

}  // namespace

Status check_against_scalar(const KernelSet& set) {
  const FloatEnvironment environment;
  Comparison compare(set);
  Inputs inputs;
  check_integers(compare, inputs);
  check_dense(compare, inputs);
  check_floats(compare, inputs);
  if (compare.first().empty()) return {};
  return Error::runtime("the kernel " + compare.first() + " of the instruction set '" +
                        std::string(set.name) +
                        "' does not compute on this processor what the scalar one computes");
}

}  // namespace trilith::kernels
