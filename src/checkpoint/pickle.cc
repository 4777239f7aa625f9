#include "checkpoint/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/byte_reader.h"
#include "base/utf8.h"

namespace trilith::checkpoint {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxValues = size_t{1} << 20;
constexpr size_t kMaxGlobalBytes = 1024;

class Machine {
 public:
  Machine(std::span<const std::byte> bytes, std::span<const std::string_view> callables)
      : reader_(bytes), callables_(callables) {}

  Result<Pickle> run() {
    while (!done_) {
      at_ = reader_.offset();
      TRILITH_ASSIGN_OR_RETURN(const uint8_t opcode, reader_.read_u8());
      Status status = step(static_cast<char>(opcode));
      if (!status.ok()) {
        Error error = std::move(status).error();
        const uint64_t at = error.offset.value_or(at_);
        return std::move(error).with_offset(at);
      }
      if (pickle_.values.size() > kMaxValues || memo_.size() > kMaxValues) {
        return Error::damaged("the pickle holds too many values").with_offset(at_);
      }
    }
    return std::move(pickle_);
  }

 private:
  Status step(char opcode) {
    switch (opcode) {
      case '\x80':  // PROTO
        return read_protocol();
      case '\x95':  // FRAME
        return reader_.skip(8);
      case '.':
        return stop();
      case '(':
        marks_.push_back(stack_.size());
        return {};
      case 'N':
        return push({.kind = Kind::kNone});
      case '\x88':
      case '\x89':
        return push({.kind = Kind::kBool, .truth = opcode == '\x88'});
      case 'J':
      case 'K':
      case 'M':
      case '\x8a':
        return read_integer(opcode);
      case 'G':
        return read_float();
      case 'X':
      case '\x8c':
      case '\x8d':
        return read_text(opcode);
      case ')':
        return push({.kind = Kind::kTuple});
      case ']':
        return push({.kind = Kind::kList});
      case '}':
        return push({.kind = Kind::kDict});
      case '\x85':
      case '\x86':
      case '\x87':
        return make_tuple(static_cast<size_t>(opcode - '\x84'));
      case 't':
        return make_tuple(above_mark());
      case 'a':
        return extend(Kind::kList, 1);
      case 'e':
        return extend(Kind::kList, above_mark());
      case 's':
        return extend(Kind::kDict, 2);
      case 'u':
        return extend(Kind::kDict, above_mark());
      case 'q':
      case 'r':
      case '\x94':
        return memoize(opcode);
      case 'h':
      case 'j':
        return recall(opcode);
      case 'c':
      case '\x93':
        return read_global(opcode);
      case 'R':
        return call();
      case 'b':
        return build();
      case 'Q':
        return persistent();
      case '\x81':  // NEWOBJ
        return refuse_object(2);
      case '\x92':  // NEWOBJ_EX
        return refuse_object(3);
      default:
        return Error::unsupported("the pickle has an opcode no checkpoint needs")
            .with_found(fmt::format("0x{:02x}{}{}", static_cast<unsigned char>(opcode),
                                    last_global_.empty() ? "" : ", after naming ", last_global_));
    }
  }

  Status read_protocol() {
    TRILITH_ASSIGN_OR_RETURN(const uint8_t protocol, reader_.read_u8());
    if (protocol >= 2 && protocol <= 5) return {};
    return Error::unsupported("this pickle protocol is not read")
        .with_expected("2 to 5")
        .with_found(fmt::format("{}", protocol));
  }

  Status stop() {
    if (stack_.size() != 1 || !marks_.empty()) {
      return Error::damaged("the pickle ends with more or less than one value");
    }
    pickle_.root = stack_.back();
    done_ = true;
    return {};
  }

  Status push(PickleValue value) {
    stack_.push_back(static_cast<uint32_t>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
    return {};
  }

  Status read_integer(char opcode) {
    PickleValue value{.kind = Kind::kInteger};
    if (opcode == 'J') {
      TRILITH_ASSIGN_OR_RETURN(const uint32_t bits, reader_.read_u32());
      value.integer = static_cast<int32_t>(bits);
    } else if (opcode == 'K') {
      TRILITH_ASSIGN_OR_RETURN(value.integer, reader_.read_u8());
    } else if (opcode == 'M') {
      TRILITH_ASSIGN_OR_RETURN(value.integer, reader_.read_u16());
    } else {
      TRILITH_RETURN_IF_ERROR(read_long(value));
    }
    return push(std::move(value));
  }

  // Little-endian two's complement of any length.
  Status read_long(PickleValue& value) {
    TRILITH_ASSIGN_OR_RETURN(const uint8_t length, reader_.read_u8());
    TRILITH_ASSIGN_OR_RETURN(const auto bytes, reader_.read_bytes(length));
    const bool negative = length > 0 && (std::to_integer<unsigned>(bytes[length - 1U]) & 0x80) != 0;
    uint64_t low = negative ? ~uint64_t{0} : 0;
    double number = negative ? -1.0 : 0.0;
    for (size_t i = length; i-- > 0;) {
      const auto byte = std::to_integer<unsigned>(bytes[i]);
      low = (low << 8) | byte;
      number = number * 256.0 + byte;
    }
    value.integer = static_cast<int64_t>(low);
    if (length <= 8) return {};
    value.kind = Kind::kFloat;
    value.number = number;
    return {};
  }

  Status read_float() {
    TRILITH_ASSIGN_OR_RETURN(const auto bytes, reader_.read_bytes(8));  // big-endian
    uint64_t bits = 0;
    for (const std::byte byte : bytes) bits = (bits << 8) | std::to_integer<uint64_t>(byte);
    return push({.kind = Kind::kFloat, .number = std::bit_cast<double>(bits)});
  }

  Status read_text(char opcode) {
    uint64_t length = 0;
    if (opcode == 'X') {
      TRILITH_ASSIGN_OR_RETURN(length, reader_.read_u32());
    } else if (opcode == '\x8c') {
      TRILITH_ASSIGN_OR_RETURN(length, reader_.read_u8());
    } else {
      TRILITH_ASSIGN_OR_RETURN(length, reader_.read_u64());
    }
    TRILITH_ASSIGN_OR_RETURN(const std::string_view text, reader_.read_string(length));
    if (first_invalid_utf8(text)) return Error::damaged("a text in the pickle is not UTF-8");
    return push({.kind = Kind::kText, .text = text});
  }

  // Values above the last mark, which is taken away; too many when there is no mark, so that
  // pop_items refuses.
  size_t above_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return SIZE_MAX;
    const size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }

  Result<std::vector<uint32_t>> pop_items(size_t count) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor || count > stack_.size() - floor) {
      return Error::damaged("the pickle takes more values than it has");
    }
    std::vector<uint32_t> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }

  Status make_tuple(size_t count) {
    TRILITH_ASSIGN_OR_RETURN(auto items, pop_items(count));
    return push({.kind = Kind::kTuple, .items = std::move(items)});
  }

  Status extend(Kind kind, size_t count) {
    TRILITH_ASSIGN_OR_RETURN(const auto items, pop_items(count));
    if (stack_.empty() || value(stack_.back()).kind != kind || (kind == Kind::kDict && count % 2)) {
      return Error::damaged(kind == Kind::kDict ? "the pickle sets items of what is no dict"
                                                : "the pickle appends to what is no list");
    }
    auto& target = value(stack_.back()).items;
    target.insert(target.end(), items.begin(), items.end());
    return {};
  }

  Status memoize(char opcode) {
    uint64_t key = memo_.size();
    if (opcode == 'q') {
      TRILITH_ASSIGN_OR_RETURN(key, reader_.read_u8());
    } else if (opcode == 'r') {
      TRILITH_ASSIGN_OR_RETURN(key, reader_.read_u32());
    }
    if (stack_.empty()) return Error::damaged("the pickle remembers a value it has not");
    memo_[key] = stack_.back();
    return {};
  }

  Status recall(char opcode) {
    uint64_t key = 0;
    if (opcode == 'h') {
      TRILITH_ASSIGN_OR_RETURN(key, reader_.read_u8());
    } else {
      TRILITH_ASSIGN_OR_RETURN(key, reader_.read_u32());
    }
    const auto found = memo_.find(key);
    if (found == memo_.end()) return Error::damaged("the pickle recalls a value it has not");
    stack_.push_back(found->second);
    return {};
  }

  Result<std::string_view> read_line() {
    ByteReader start = reader_;
    uint64_t length = 0;
    for (;; ++length) {
      TRILITH_ASSIGN_OR_RETURN(const uint8_t byte, reader_.read_u8());
      if (byte == '\n') break;
    }
    TRILITH_ASSIGN_OR_RETURN(const std::string_view line, start.read_string(length));
    if (first_invalid_utf8(line)) return Error::damaged("a name in the pickle is not UTF-8");
    return line;
  }

  Status read_global(char opcode) {
    PickleValue global{.kind = Kind::kGlobal};
    if (opcode == 'c') {
      TRILITH_ASSIGN_OR_RETURN(global.text, read_line());
      TRILITH_ASSIGN_OR_RETURN(global.name, read_line());
    } else {
      TRILITH_ASSIGN_OR_RETURN(const auto names, pop_items(2));
      if (value(names[0]).kind != Kind::kText || value(names[1]).kind != Kind::kText) {
        return Error::damaged("a global of the pickle has no name");
      }
      global.text = value(names[0]).text;
      global.name = value(names[1]).text;
    }
    if (global.text.size() + global.name.size() > kMaxGlobalBytes) {
      return Error::damaged("the name of a global is too long");
    }
    last_global_ = fmt::format("{}.{}", global.text, global.name);
    return push(std::move(global));
  }

  // A class and what makes an object of it.
  Status refuse_object(size_t count) {
    TRILITH_ASSIGN_OR_RETURN(const auto items, pop_items(count));
    const PickleValue& type = value(items[0]);
    return Error::unsupported(
               fmt::format("the pickle makes an object of {}.{}", type.text, type.name))
        .with_expected("numbers, texts, tuples, lists, dicts and plain tensors")
        .with_hint("save model.state_dict() alone, as safetensors or with torch.save");
  }

  Status call() {
    TRILITH_ASSIGN_OR_RETURN(auto items, pop_items(2));
    const PickleValue& callable = value(items[0]);
    const PickleValue& arguments = value(items[1]);
    if (callable.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) {
      return Error::unsupported("the pickle calls what is no named function");
    }
    const std::string name = fmt::format("{}.{}", callable.text, callable.name);
    if (name == "collections.OrderedDict" && arguments.items.empty()) {
      return push({.kind = Kind::kDict});
    }
    if (std::ranges::find(callables_, name) == callables_.end()) {
      return Error::unsupported("the pickle calls " + name)
          .with_expected("nothing but the builders of tensors; no pickle is ever executed")
          .with_hint("save model.state_dict() alone, as safetensors or with torch.save");
    }
    return push({.kind = Kind::kCall, .items = std::move(items)});
  }

  // Attributes of an OrderedDict (`_metadata` of a state dict) say nothing about the weights.
  Status build() {
    TRILITH_ASSIGN_OR_RETURN(const auto state, pop_items(1));
    if (stack_.empty() || value(stack_.back()).kind != Kind::kDict ||
        value(state[0]).kind != Kind::kDict) {
      return Error::unsupported("the pickle sets the state of an object");
    }
    return {};
  }

  Status persistent() {
    TRILITH_ASSIGN_OR_RETURN(auto items, pop_items(1));
    return push({.kind = Kind::kPersistent, .items = std::move(items)});
  }

  PickleValue& value(uint32_t index) { return pickle_.values[index]; }

  ByteReader reader_;
  std::span<const std::string_view> callables_;
  Pickle pickle_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, uint32_t> memo_;
  std::string last_global_;
  uint64_t at_ = 0;
  bool done_ = false;
};

}  // namespace

Result<Pickle> parse_pickle(std::span<const std::byte> bytes,
                            std::span<const std::string_view> callables) {
  return Machine(bytes, callables).run();
}

}  // namespace trilith::checkpoint
