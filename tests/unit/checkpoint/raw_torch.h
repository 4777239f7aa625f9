// Zip archives and pickles put together by hand, so that tests can break them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/zip_reader.h"
#include "raw_gguf.h"

namespace trilith::checkpoint {

// Every field of the directory is public: a test changes one and asks for the bytes.
struct RawZip {
  struct Entry {
    std::string name;
    std::string data;
    uint16_t flags = 0;
    uint16_t method = 0;
    uint32_t crc32 = 0;
    uint32_t stored = 0;
    uint32_t size = 0;
    uint32_t local = 0;
    std::string extra;
  };
  std::vector<Entry> entries;
  std::string local_part;
  std::string comment;
  std::string before_end;  // zip64 records
  uint16_t count = 0;
  uint32_t directory_offset = 0;  // kept when not 0
  uint32_t directory_bytes = 0;   // kept when not 0

  void add(const std::string& name, const std::string& data) {
    Entry entry;
    entry.name = name;
    entry.data = data;
    entry.crc32 = crc32_of(std::as_bytes(std::span(data)));
    entry.stored = entry.size = static_cast<uint32_t>(data.size());
    entry.local = static_cast<uint32_t>(local_part.size());
    local_part += "PK\3\4" + std::string(22, '\0') +
                  little_endian(static_cast<uint16_t>(name.size())) + std::string(2, '\0') + name +
                  data;
    entries.push_back(entry);
    ++count;
  }

  std::string directory() const {
    std::string bytes;
    for (const Entry& entry : entries) {
      bytes += "PK\1\2" + std::string(4, '\0') + little_endian(entry.flags) +
               little_endian(entry.method) + std::string(4, '\0') + little_endian(entry.crc32) +
               little_endian(entry.stored) + little_endian(entry.size) +
               little_endian(static_cast<uint16_t>(entry.name.size())) +
               little_endian(static_cast<uint16_t>(entry.extra.size())) + std::string(10, '\0') +
               little_endian(entry.local) + entry.name + entry.extra;
    }
    return bytes;
  }

  std::string bytes() const {
    const std::string central = directory();
    const auto pick = [](uint32_t set, size_t real) {
      return little_endian(set != 0 ? set : static_cast<uint32_t>(real));
    };
    return local_part + central + before_end + "PK\5\6" + std::string(4, '\0') +
           little_endian(count) + little_endian(count) + pick(directory_bytes, central.size()) +
           pick(directory_offset, local_part.size()) +
           little_endian(static_cast<uint16_t>(comment.size())) + comment;
  }
};

// Opcodes of protocol 2.
namespace pickled {

inline std::string text(std::string_view value) {
  return "X" + little_endian(static_cast<uint32_t>(value.size())) + std::string(value);
}
inline std::string number(int32_t value) { return "J" + little_endian(value); }
inline std::string tuple(std::initializer_list<std::string> items) {
  std::string bytes = "(";
  for (const std::string& item : items) bytes += item;
  return bytes + "t";
}
inline std::string numbers(std::initializer_list<int32_t> items) {
  std::string bytes = "(";
  for (const int32_t item : items) bytes += number(item);
  return bytes + "t";
}
inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string call(const std::string& callable, const std::string& arguments) {
  return callable + arguments + "R";
}
inline std::string storage(std::string_view type, std::string_view key) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), number(0)}) + "Q";
}
inline std::string tensor(const std::string& storage, int32_t offset, const std::string& size,
                          const std::string& stride) {
  return call(global("torch._utils", "_rebuild_tensor_v2"),
              tuple({storage, number(offset), size, stride, "\x89", "}"}));
}
inline std::string dict(std::initializer_list<std::pair<std::string, std::string>> members) {
  std::string bytes = "}(";
  for (const auto& [key, value] : members) bytes += text(key) + value;
  return bytes + "u";
}
inline std::string whole(const std::string& value) { return "\x80\x02" + value + "."; }

}  // namespace pickled

// An archive as torch.save writes it, with one storage of 24 bytes under "0".
inline std::string raw_torch(const std::string& pickle) {
  RawZip zip;
  zip.add("archive/data.pkl", pickle);
  zip.add("archive/byteorder", "little");
  zip.add("archive/data/0", "abcdefghijklmnopqrstuvwx");
  return zip.bytes();
}

}  // namespace trilith::checkpoint
