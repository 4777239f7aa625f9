// ThreadPool: a fixed set of workers that run one parallel loop at a time.
// parallel_for(n, body) calls body(begin, end) on disjoint ranges that cover [0, n) and returns
// when all are done. Which thread takes which range is not fixed, so bodies must write disjoint
// places and must not reduce across ranges: results then do not depend on the thread count.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trilith {

class ThreadPool {
 public:
  // `threads` counts the caller; 1 makes every loop run inline, 0 takes one a processor.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Ranges are multiples of `grain` long (the last may be shorter). Not re-entrant.
  void parallel_for(size_t count, size_t grain,
                    const std::function<void(size_t begin, size_t end)>& body);

 private:
  struct Loop {
    const std::function<void(size_t, size_t)>* body;
    size_t count;
    size_t grain;
    size_t next;  // guarded by mutex_
  };

  void work();
  // Takes and runs ranges of the current loop until none is left. `lock` is held on entry and exit.
  void drain(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Loop loop_{};
  uint64_t generation_ = 0;
  int running_ = 0;  // threads inside a range
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace trilith
