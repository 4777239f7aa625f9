#include "engine/activations.h"

namespace trilith::engine {

void ActivationCodes::quantise(const Worker& worker, Mode how, const float* x, int64_t token_count,
                               int64_t col_count) {
  TRILITH_CHECK(how != Mode::kF32);
  mode = how;
  tokens = token_count;
  cols = col_count;
  padded = (cols + kernels::kLineColumns - 1) / kernels::kLineColumns * kernels::kLineColumns;
  plane_count = mode == Mode::kA16 ? 2 : 1;
  planes.resize(static_cast<size_t>(tokens * plane_count * padded));
  s.resize(static_cast<size_t>(tokens));
  step.resize(static_cast<size_t>(tokens));
  sums.resize(static_cast<size_t>(tokens * plane_count));
  worker.for_each(tokens, 1, tokens * cols * 4, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int8_t* first = planes.data() + t * plane_count * padded;
      kernels::QuantiseRow row = {.x = x + t * cols,
                                  .count = cols,
                                  .padded = padded,
                                  .codes = first,
                                  .low = mode == Mode::kA16 ? first + padded : nullptr,
                                  .s = 0,
                                  .step = 0,
                                  .sum = 0,
                                  .low_sum = 0};
      mode == Mode::kA16 ? worker.kernels->quantise_a16(&row) : worker.kernels->quantise_a8(&row);
      s[static_cast<size_t>(t)] = row.s;
      step[static_cast<size_t>(t)] = row.step;
      sums[static_cast<size_t>(t * plane_count)] = row.sum;
      if (mode == Mode::kA16) sums[static_cast<size_t>(2 * t + 1)] = row.low_sum;
    }
  });
}

int32_t ActivationCodes::code(int64_t token, int64_t k) const {
  const int8_t* first = planes.data() + token * plane_count * padded;
  return mode == Mode::kA16 ? 256 * first[k] + first[padded + k] + 128 : first[k];
}

}  // namespace trilith::engine
