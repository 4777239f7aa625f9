#include "text/regex.h"

#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/utf8.h"
#include "text/regex_parser.h"

namespace trilith::text {
namespace {

// One attempt at one place in the text. Real patterns need at most about one step a character
// (\s*[\r\n]+ gives a run of blanks back one by one).
constexpr uint32_t kMinStepsPerAttempt = 100'000;
constexpr uint32_t kStepsPerCharacter = 2;
constexpr size_t kJitStackStart = 32 * 1024;
constexpr size_t kJitStackMax = 1024 * 1024;
constexpr uint32_t kHeapKilobytes = 16 * 1024;
// CPU time for a whole text: hundreds of times what real patterns need (20 MB/s and more).
constexpr double kSecondsPerText = 1.0;
constexpr double kSecondsPerByte = 2.0 / (1 << 20);
constexpr size_t kAttemptsPerClockCheck = 64;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Which class each code point is in: two stages over pages of 256 code points.
class ClassTable {
 public:
  static constexpr size_t kMaxClasses = 256;
  using Page = std::array<uint8_t, 256>;

  // Divides all code points by membership in `sets`. False when that takes too many classes.
  bool build(const std::vector<CodePointSet>& sets) {
    std::vector<uint32_t> starts = {0};
    for (const CodePointSet& set : sets) {
      for (const auto& range : set.ranges()) {
        starts.push_back(range.first);
        if (range.last < kLastCodePoint) starts.push_back(range.last + 1);
      }
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());

    std::map<std::vector<bool>, uint8_t> classes;
    std::vector<size_t> cursor(sets.size(), 0);
    std::map<Page, uint16_t> page_numbers;
    Page page{};
    members_.assign(sets.size(), {});
    for (size_t i = 0; i < starts.size(); ++i) {
      const uint32_t first = starts[i];
      const uint32_t last = i + 1 < starts.size() ? starts[i + 1] - 1 : kLastCodePoint;
      std::vector<bool> membership(sets.size());
      for (size_t s = 0; s < sets.size(); ++s) {
        const auto& ranges = sets[s].ranges();
        while (cursor[s] < ranges.size() && ranges[cursor[s]].last < first) ++cursor[s];
        membership[s] = cursor[s] < ranges.size() && ranges[cursor[s]].first <= first;
      }
      if (classes.size() == kMaxClasses && !classes.contains(membership)) return false;
      const auto [entry, is_new] =
          classes.try_emplace(membership, static_cast<uint8_t>(classes.size()));
      if (is_new) {
        for (size_t s = 0; s < sets.size(); ++s) {
          if (membership[s]) members_[s].push_back(entry->second);
        }
      }
      for (uint32_t c = first; c <= last; ++c) {
        page[c & 0xff] = entry->second;
        if ((c & 0xff) == 0xff) add_page(page, page_numbers);
      }
    }
    return true;
  }

  uint8_t class_of(uint32_t code_point) const {
    return pages_[page_of_[code_point >> 8]][code_point & 0xff];
  }

  // Set `index` of build() as PCRE2 syntax over class numbers.
  std::string syntax(size_t index) const {
    const std::vector<uint8_t>& members = members_[index];
    if (members.empty()) return "(?!)";
    std::string text = "[";
    for (const uint8_t member : members) text += fmt::format("\\x{:02x}", member);
    return text + "]";
  }

 private:
  void add_page(const Page& page, std::map<Page, uint16_t>& numbers) {
    const auto [entry, is_new] = numbers.try_emplace(page, static_cast<uint16_t>(pages_.size()));
    if (is_new) pages_.push_back(page);
    page_of_.push_back(entry->second);
  }

  std::vector<Page> pages_;
  std::vector<uint16_t> page_of_;
  std::vector<std::vector<uint8_t>> members_;
};

std::string pcre_message(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct MatchContextDeleter {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
struct JitStackDeleter {
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

}  // namespace

struct Regex::Impl {
  ClassTable classes;
  std::unique_ptr<pcre2_code, CodeDeleter> code;
  std::string pattern;
};

Regex::Regex(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern) {
  TRILITH_ASSIGN_OR_RETURN(const ParsedPattern parsed, parse_pattern(pattern));
  auto impl = std::make_unique<Impl>();
  impl->pattern = pattern;
  if (!impl->classes.build(parsed.sets)) {
    return Error::unsupported(
               "the regular expression tells more than 256 kinds of characters apart")
        .with_found(std::string(pattern));
  }
  std::string syntax;
  for (const PatternPiece& piece : parsed.pieces) {
    syntax += piece.syntax.empty() ? impl->classes.syntax(piece.set) : piece.syntax;
  }
  int code = 0;
  PCRE2_SIZE offset = 0;
  // Anchored: the caller walks the text, so the work of one call is bounded by its step limit.
  impl->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(syntax.data()), syntax.size(),
                                 PCRE2_ANCHORED, &code, &offset, nullptr));
  if (impl->code == nullptr) {
    return Error::unsupported("the regular expression cannot be compiled: " + pcre_message(code))
        .with_found(std::string(pattern));
  }
  pcre2_jit_compile(impl->code.get(), PCRE2_JIT_COMPLETE);  // without it the interpreter runs
  return Regex(std::move(impl));
}

Result<Regex> Regex::compile_literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    const bool plain = byte >= 0x80 || byte <= 0x20 || (byte >= '0' && byte <= '9') ||
                       ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
    if (!plain) pattern += '\\';
    pattern += c;
  }
  return compile(pattern);
}

struct RegexMatcher::Scratch {
  std::unique_ptr<pcre2_match_data, MatchDataDeleter> match_data;
  std::unique_ptr<pcre2_match_context, MatchContextDeleter> context;
  std::unique_ptr<pcre2_jit_stack, JitStackDeleter> stack;
  std::string classes;  // the text, one class number a character
};

RegexMatcher::RegexMatcher(const Regex& regex)
    : regex_(&regex), scratch_(std::make_unique<Scratch>()) {
  scratch_->match_data.reset(pcre2_match_data_create(1, nullptr));
  scratch_->context.reset(pcre2_match_context_create(nullptr));
  scratch_->stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr));
  pcre2_match_context* const context = scratch_->context.get();
  if (context == nullptr) return;
  pcre2_set_heap_limit(context, kHeapKilobytes);
  pcre2_jit_stack_assign(context, nullptr, scratch_->stack.get());
}
RegexMatcher::RegexMatcher(RegexMatcher&&) noexcept = default;
RegexMatcher& RegexMatcher::operator=(RegexMatcher&&) noexcept = default;
RegexMatcher::~RegexMatcher() = default;

Result<std::vector<RegexMatch>> RegexMatcher::find_all(std::string_view text) {
  pcre2_match_context* const context = scratch_->context.get();
  if (context == nullptr || scratch_->match_data == nullptr) {
    return Error::runtime("no memory for a regular expression match");
  }
  std::string& classes = scratch_->classes;
  classes.clear();
  for (size_t offset = 0; offset < text.size();) {
    classes += static_cast<char>(regex_->impl_->classes.class_of(next_code_point(text, offset)));
  }
  const size_t steps = std::max<size_t>(kMinStepsPerAttempt, classes.size() * kStepsPerCharacter);
  pcre2_set_match_limit(context, static_cast<uint32_t>(steps));
  pcre2_set_depth_limit(context, static_cast<uint32_t>(steps));
  const double allowed = kSecondsPerText + kSecondsPerByte * static_cast<double>(text.size());
  const double started = thread_seconds();
  const auto too_dear = [&](const std::string& what) {
    return Error::unsupported("the regular expression takes too much work on this text: " + what)
        .with_found(regex_->impl_->pattern)
        .with_hint("check that the tokenizer.json comes from a source you trust");
  };

  std::vector<RegexMatch> matches;
  size_t byte = 0;  // of character `at`
  size_t attempts = 0;
  constexpr size_t kNever = static_cast<size_t>(-1);
  size_t last_end = kNever;
  const auto skip_characters = [&](size_t count) {
    for (; count > 0; --count) next_code_point(text, byte);
  };
  for (size_t at = 0; at <= classes.size();) {
    const int code =
        pcre2_match(regex_->impl_->code.get(), reinterpret_cast<PCRE2_SPTR>(classes.data()),
                    classes.size(), at, 0, scratch_->match_data.get(), context);
    if (code < 0 && code != PCRE2_ERROR_NOMATCH) return too_dear(pcre_message(code));
    if (++attempts % kAttemptsPerClockCheck == 0 && thread_seconds() - started > allowed) {
      return too_dear(fmt::format("more than {:.0f} s", allowed));
    }
    const size_t end = code >= 0 ? pcre2_get_ovector_pointer(scratch_->match_data.get())[1] : at;
    const bool found = code >= 0 && !(end == at && at == last_end);
    if (found) {
      const size_t begin = byte;
      skip_characters(end - at);
      matches.push_back({begin, byte});
      at = last_end = end;
    } else {
      // Nothing here, or an empty match right behind the last match, which does not count.
      if (at == classes.size()) break;
      skip_characters(1);
      ++at;
    }
  }
  return matches;
}

}  // namespace trilith::text
