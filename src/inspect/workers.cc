#include "inspect/workers.h"

#include <algorithm>
#include <thread>

#include "base/thread_pool.h"

namespace trilith::inspect {

void for_each(size_t count, int64_t weights, const std::function<void(size_t)>& body) {
  constexpr int64_t kMostBytes = int64_t{1} << 27;
  constexpr int64_t kMostThreads = 4;
  const int64_t processors = std::max(1U, std::thread::hardware_concurrency());
  const int64_t fitting = kMostBytes / std::max<int64_t>(1, weights);
  const int64_t threads = std::clamp<int64_t>(
      std::min({processors, fitting, static_cast<int64_t>(count)}), 1, kMostThreads);
  ThreadPool pool(static_cast<int>(threads));
  pool.parallel_for(count, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace trilith::inspect
