// A pickle read as data. The machine knows the opcodes that build numbers, texts, tuples, lists and
// dicts; a call becomes a value that holds the callable's name and its arguments, and a callable
// that is not on the caller's list is refused by name. Nothing is ever imported or run. Protocols
// 2 to 5 (docs.python.org/3/library/pickletools.html). Values live in one arena and name each other
// by index; the texts are views into the bytes parsed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trilith::checkpoint {

struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInteger,
    kFloat,  // also integers beyond 64 bits, rounded
    kText,
    kTuple,
    kList,
    kDict,        // items: key, value, key, value, …
    kGlobal,      // a name out of a module, not called
    kCall,        // items: the callable (kGlobal), its arguments (kTuple)
    kPersistent,  // items: what identifies it
  };
  Kind kind = Kind::kNone;
  bool truth = false;
  int64_t integer = 0;
  double number = 0;
  std::string_view text = {};  // kText; of a global the module
  std::string_view name = {};  // of a global
  std::vector<uint32_t> items = {};
};

struct Pickle {
  std::vector<PickleValue> values;
  uint32_t root = 0;
  const PickleValue& at(uint32_t index) const { return values[index]; }
};

// `callables`: "module.name" of what may be called. collections.OrderedDict without arguments is a
// dict anyway, and the attributes a pickle sets on a dict are dropped. Values may be shared and may
// even contain themselves: walk with a bound.
Result<Pickle> parse_pickle(std::span<const std::byte> bytes,
                            std::span<const std::string_view> callables);

}  // namespace trilith::checkpoint
