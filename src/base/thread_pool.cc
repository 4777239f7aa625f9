#include "base/thread_pool.h"

#include <algorithm>

#include "base/check.h"

namespace trilith {

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(size_t count, size_t grain,
                              const std::function<void(size_t, size_t)>& body) {
  TRILITH_CHECK(grain > 0);
  if (count == 0) return;
  if (workers_.empty() || count <= grain) {
    body(0, count);
    return;
  }
  std::unique_lock lock(mutex_);
  // About four ranges a thread: balances uneven cores at little cost.
  const size_t ranges = 4 * (workers_.size() + 1);
  const size_t wanted = std::max(grain, (count + ranges - 1) / ranges);
  loop_ = {&body, count, (wanted + grain - 1) / grain * grain, 0};
  ++generation_;
  wake_.notify_all();
  drain(lock);
  done_.wait(lock, [this] { return running_ == 0; });
  loop_ = {};
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  uint64_t seen = 0;
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    drain(lock);
  }
}

void ThreadPool::drain(std::unique_lock<std::mutex>& lock) {
  while (loop_.next < loop_.count) {
    const size_t begin = loop_.next;
    const size_t end = std::min(begin + loop_.grain, loop_.count);
    loop_.next = end;
    ++running_;
    const auto* body = loop_.body;
    lock.unlock();
    (*body)(begin, end);
    lock.lock();
    --running_;
  }
  if (running_ == 0) done_.notify_all();
}

}  // namespace trilith
