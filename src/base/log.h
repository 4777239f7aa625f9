// Messages for people, on stderr; results go to stdout and never through here.
// Progress bars are drawn only when stderr is a terminal. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trilith {

enum class LogLevel { kQuiet, kWarning, kInfo, kDebug };

void set_log_level(LogLevel level);
void log_warning(std::string_view message);
void log_info(std::string_view message);
void log_debug(std::string_view message);

// "label  [=====>    ] 42 %", redrawn at most ten times a second, cleared when destroyed.
class ProgressBar {
 public:
  ProgressBar(std::string label, uint64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance(uint64_t amount = 1);

 private:
  void draw();

  std::string label_;
  uint64_t total_;
  uint64_t done_ = 0;
  int64_t last_drawn_ms_ = 0;
  bool visible_;
};

}  // namespace trilith
