#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

namespace trilith {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

void write_line(LogLevel level, std::string_view prefix, std::string_view message) {
  if (g_level.load() < level) return;
  const std::string line = fmt::format("{}{}\n", prefix, message);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of threads do not mix
}

int64_t now_ms() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void set_log_level(LogLevel level) { g_level = level; }
void log_warning(std::string_view message) {
  write_line(LogLevel::kWarning, "trilith: warning: ", message);
}
void log_info(std::string_view message) { write_line(LogLevel::kInfo, "", message); }
void log_debug(std::string_view message) { write_line(LogLevel::kDebug, "debug: ", message); }

ProgressBar::ProgressBar(std::string label, uint64_t total)
    : label_(std::move(label)),
      total_(std::max<uint64_t>(total, 1)),
      visible_(isatty(STDERR_FILENO) != 0 && g_level.load() >= LogLevel::kInfo) {}

ProgressBar::~ProgressBar() {
  if (visible_ && last_drawn_ms_ != 0) std::fputs("\r\033[K", stderr);
}

void ProgressBar::advance(uint64_t amount) {
  done_ = std::min(done_ + amount, total_);
  if (!visible_) return;
  const int64_t now = now_ms();
  if (now - last_drawn_ms_ < 100) return;
  last_drawn_ms_ = now;
  draw();
}

void ProgressBar::draw() {
  constexpr uint64_t kWidth = 30;
  const auto share = static_cast<double>(done_) / static_cast<double>(total_);
  const auto filled = static_cast<size_t>(share * kWidth);
  const std::string line = fmt::format("\r{}  [{}{}] {:3.0f} %", label_, std::string(filled, '='),
                                       std::string(kWidth - filled, ' '), share * 100);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace trilith
