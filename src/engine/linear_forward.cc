#include "engine/linear_forward.h"

#include <algorithm>

namespace trilith::engine {
namespace {

// Accumulators on the stack of a range: panels × plane rows of one kernel call.
constexpr int64_t kAccumulatorRows = 16;
constexpr int64_t kDenseRows = 32;  // rows of one call: their weights stay in L2 over the tokens

class PanelForward {
 public:
  PanelForward(const Worker& worker, const PreparedLinear& linear, const LinearInput& input,
               const EngineFault& fault, float* out, std::vector<int64_t>* accumulators)
      : worker_(worker),
        linear_(linear),
        panels_(*linear.panels()),
        codes_(*input.codes),
        plane_rows_(input.tokens * input.codes->plane_count),
        out_(out),
        accumulators_(accumulators) {
    subtract_.resize(static_cast<size_t>(plane_rows_));
    for (size_t i = 0; i < subtract_.size(); ++i) {
      subtract_[i] = panels_.code_offset * codes_.sums[i];
    }
    if (fault.hits(EngineFault::Kind::kActivationScale, linear.module)) {
      step_factor_ = static_cast<float>(fault.factor);
    }
  }

  void run() {
    const int64_t bytes = static_cast<int64_t>(panels_.data.size()) * plane_rows_;
    worker_.for_each(panels_.panel_count, 1, bytes,
                     [this](int64_t begin, int64_t end) { run_panels(begin, end); });
  }

 private:
  void run_panels(int64_t begin, int64_t end) const {
    alignas(64) int32_t acc[kAccumulatorRows * kernels::kPanel2Rows];
    const int64_t tile = std::min(plane_rows_, kAccumulatorRows);
    const int64_t panels_a_call = kAccumulatorRows / tile;
    for (int64_t p = begin; p < end; p += panels_a_call) {
      const int64_t count = std::min(panels_a_call, end - p);
      const int64_t stride = count * panels_.panel_rows();
      for (int64_t r = 0; r < plane_rows_; r += tile) {
        const int64_t plane_rows = std::min(tile, plane_rows_ - r);
        kernels::panel_dot(*worker_.kernels, panels_, p, count,
                           codes_.planes.data() + r * codes_.padded, codes_.padded, plane_rows,
                           subtract_.data() + r, acc, stride);
        for (int64_t t = 0; t < plane_rows / codes_.plane_count; ++t) {
          scale(acc + t * codes_.plane_count * stride, stride, p * panels_.panel_rows(),
                r / codes_.plane_count + t);
        }
      }
    }
  }

  void scale(const int32_t* acc, int64_t stride, int64_t first_row, int64_t token) const {
    const bool wide = codes_.plane_count == 2;
    const kernels::ScaleRows rows = {
        .acc = acc,
        .low = wide ? acc + stride : nullptr,
        .row_sums = panels_.row_sums.data() + first_row,
        .row_scale = linear_.row_scale.data() + first_row,
        .bias = linear_.bias.empty() ? nullptr : linear_.bias.data() + first_row,
        .token_scale = codes_.step[static_cast<size_t>(token)] * step_factor_,
        .count = std::min(stride, linear_.rows - first_row),
        .out = out_ + token * linear_.rows + first_row};
    wide ? worker_.kernels->scale_a16(rows) : worker_.kernels->scale_a8(rows);
    if (accumulators_ == nullptr) return;
    int64_t* sums = accumulators_->data() + token * linear_.rows + first_row;
    for (int64_t n = 0; n < rows.count; ++n) {
      sums[n] = wide ? int64_t{256} * rows.acc[n] + rows.low[n] + int64_t{128} * rows.row_sums[n]
                     : rows.acc[n];
    }
  }

  const Worker& worker_;
  const PreparedLinear& linear_;
  const kernels::Panels& panels_;
  const ActivationCodes& codes_;
  int64_t plane_rows_;
  float* out_;
  std::vector<int64_t>* accumulators_;
  std::vector<int32_t> subtract_;
  float step_factor_ = 1.0F;
};

void forward_dense(const Worker& worker, const PreparedLinear& linear, const float* x,
                   int64_t tokens, float* out) {
  const DenseRows& dense = *linear.dense();
  worker.for_each(linear.rows, kDenseRows, dense.bytes() * tokens, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; n += kDenseRows) {
      const int64_t count = std::min(kDenseRows, end - n);
      dense.dot(*worker.kernels, n, count, x, linear.cols, tokens, out + n, linear.rows);
      for (int64_t t = 0; t < tokens; ++t) {
        float* y = out + t * linear.rows;
        for (int64_t i = n; i < n + count; ++i) {
          if (!linear.row_scale.empty()) y[i] *= linear.row_scale[static_cast<size_t>(i)];
          if (!linear.bias.empty()) y[i] += linear.bias[static_cast<size_t>(i)];
        }
      }
    }
  });
}

// What the codes stand for: input of linears that take codes but have no panels.
std::vector<float> dequantised(const ActivationCodes& codes, float factor) {
  std::vector<float> x(static_cast<size_t>(codes.tokens * codes.cols));
  for (int64_t t = 0; t < codes.tokens; ++t) {
    const float step = codes.step[static_cast<size_t>(t)] * factor;
    for (int64_t k = 0; k < codes.cols; ++k) {
      x[static_cast<size_t>(t * codes.cols + k)] = static_cast<float>(codes.code(t, k)) * step;
    }
  }
  return x;
}

void narrow_if_all_fit(const std::vector<int64_t>& wide, std::vector<int32_t>& narrow) {
  const bool fit = std::all_of(wide.begin(), wide.end(),
                               [](int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; });
  narrow.clear();
  if (!fit) return;
  narrow.reserve(wide.size());
  for (const int64_t value : wide) narrow.push_back(static_cast<int32_t>(value));
}

}  // namespace

void forward_linear(const Worker& worker, const PreparedLinear& linear, const LinearInput& input,
                    const EngineFault& fault, float* out, std::vector<int32_t>* accumulators) {
  if (accumulators != nullptr) accumulators->clear();
  if (linear.panels() != nullptr) {
    std::vector<int64_t> sums;
    if (accumulators != nullptr) sums.resize(static_cast<size_t>(input.tokens * linear.rows));
    PanelForward(worker, linear, input, fault, out, accumulators != nullptr ? &sums : nullptr)
        .run();
    if (accumulators != nullptr) narrow_if_all_fit(sums, *accumulators);
  } else if (linear.takes_codes) {
    const bool wrong_step = fault.hits(EngineFault::Kind::kActivationScale, linear.module);
    const float factor = wrong_step ? static_cast<float>(fault.factor) : 1.0F;
    forward_dense(worker, linear, dequantised(*input.codes, factor).data(), input.tokens, out);
  } else {
    forward_dense(worker, linear, input.x, input.tokens, out);
  }
  if (fault.hits(EngineFault::Kind::kSkipRows, linear.module)) {
    const int64_t end = std::min(fault.first_row + fault.row_count, linear.rows);
    for (int64_t t = 0; t < input.tokens; ++t) {
      for (int64_t n = fault.first_row; n < end; ++n) out[t * linear.rows + n] = 0.0F;
    }
  }
}

}  // namespace trilith::engine
