// Worker: the pool and kernels that one engine computes with. for_each cuts [0, count) into ranges,
// on several threads when the work is worth waking them, and holds a FloatEnvironment in each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/thread_pool.h"
#include "kernels/float_environment.h"
#include "kernels/kernel_set.h"

namespace trilith::engine {

struct Worker {
  const kernels::KernelSet* kernels;
  ThreadPool* pool;

  // Waking threads costs tens of microseconds; a core moves about this many bytes meanwhile.
  static constexpr int64_t kWorthwhileBytes = 1 << 21;

  // `bytes` is what the whole loop reads, roughly.
  void for_each(int64_t count, int64_t grain, int64_t bytes,
                const std::function<void(int64_t begin, int64_t end)>& body) const {
    if (bytes < kWorthwhileBytes || pool->threads() == 1) {
      if (count > 0) body(0, count);
      return;
    }
    pool->parallel_for(static_cast<size_t>(count), static_cast<size_t>(grain),
                       [&body](size_t begin, size_t end) {
                         const kernels::FloatEnvironment environment;
                         body(static_cast<int64_t>(begin), static_cast<int64_t>(end));
                       });
  }
};

}  // namespace trilith::engine
