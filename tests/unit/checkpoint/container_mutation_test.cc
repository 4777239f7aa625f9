// Small valid GGUF and PyTorch files, mutated from a fixed seed: parsing never crashes, and
// whatever still parses has views of the size their shapes say that lie inside the file (or in a
// copy).
#include <gtest/gtest.h>

#include <random>

#include "checkpoint/gguf.h"
#include "checkpoint/torch_reader.h"
#include "raw_file.h"
#include "raw_gguf.h"
#include "raw_torch.h"

namespace trilith::checkpoint {
namespace {

std::string gguf_file() {
  RawGguf file;
  file.text("general.architecture", "llama");
  file.array("tokens", 8, 2, gguf_text("a") + gguf_text("bc"));
  file.array("deep", 9, 1, little_endian<uint32_t>(4) + little_endian<uint64_t>(1) + "abcd");
  file.tensor("f", {3, 2}, 0, 24);
  file.tensor("q", {64, 5}, 2, 180);
  file.tensor("i", {128, 4}, 36, 160);
  return file.bytes();
}

std::string torch_file() {
  using namespace pickled;
  const std::string storage = pickled::storage("HalfStorage", "0");
  RawZip zip;
  zip.add("archive/data.pkl",
          whole(dict({{"a", tensor(storage, 1, numbers({2, 3}), numbers({3, 1}))},
                      {"b", tensor(storage, 0, numbers({3, 2}), numbers({1, 3}))},
                      {"c", dict({{"d", number(3)}})}})));
  zip.add("archive/data/0", "abcdefghijklmnopqrstuvwx");
  zip.entries[0].crc32 = 0;  // left out, or every change to the pickle would stop there
  return zip.bytes();
}

std::string mutated(const std::string& valid, size_t header_bytes, std::mt19937_64& random) {
  std::string file = valid;
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  for (size_t edits = 1 + below(3); edits > 0; --edits) {
    const size_t at = below(std::min(header_bytes, file.size()));
    switch (below(6)) {
      case 0:
        file.resize(std::max<size_t>(1, file.size() - below(60)));
        break;
      case 1:
        file.erase(at, 1 + below(8));
        break;
      case 2:
        file.insert(at, 1 + below(8), static_cast<char>(random()));
        break;
      case 3:  // a count, a length or an offset of any size
        for (size_t i = 0; i < 4 && at + i < file.size(); ++i) {
          file[at + i] = static_cast<char>(random());
        }
        break;
      case 4:
        file[at] = static_cast<char>(random());
        break;
      default:
        file[at] ^= static_cast<char>(1 << below(8));
    }
    if (file.empty()) file = "x";
  }
  return file;
}

struct Counts {
  int parsed = 0;
  int refused = 0;
};

template <typename Parse>
Counts run(const std::string& valid, size_t header_bytes, const Parse& parse) {
  std::mt19937_64 random(20261201);
  Counts counts;
  for (int round = 0; round < 4000; ++round) {
    SCOPED_TRACE(round);
    const std::string text = mutated(valid, header_bytes, random);
    const std::vector<char> file(text.begin(), text.end());  // exact size: ASan sees one byte more
    const auto bytes = bytes_of({file.data(), file.size()});
    const auto content = parse(bytes);
    if (!content.ok()) {
      ++counts.refused;
      EXPECT_EQ(exit_code(content.error().kind), 4);
      EXPECT_FALSE(content.error().to_string().empty());
      continue;
    }
    ++counts.parsed;
    for (const TensorView& tensor : content->tensors) {
      EXPECT_EQ(*byte_count(tensor.dtype, tensor.shape), tensor.bytes.size());
      bool inside = tensor.bytes.empty();
      const auto lies_in = [&](std::span<const std::byte> whole) {
        inside |= tensor.bytes.data() >= whole.data() &&
                  tensor.bytes.data() + tensor.bytes.size() <= whole.data() + whole.size();
      };
      lies_in(bytes);
      if constexpr (requires { content->copies; }) {
        for (const auto& copy : content->copies) lies_in(*copy);
      }
      EXPECT_TRUE(inside) << tensor.name;
    }
  }
  return counts;
}

// Both sides must be exercised, or the property says nothing.
TEST(ContainerMutations, GgufNeverReachesOutOfTheFile) {
  const std::string valid = gguf_file();
  ASSERT_TRUE(parse_gguf(bytes_of(valid), "f").ok());
  const Counts counts = run(valid, valid.size() - 416, [](std::span<const std::byte> bytes) {
    return parse_gguf(bytes, "f");
  });
  EXPECT_GT(counts.parsed, 100);
  EXPECT_GT(counts.refused, 1000);
}

TEST(ContainerMutations, TorchNeverReachesOutOfTheFile) {
  const std::string valid = torch_file();
  ASSERT_TRUE(parse_torch(bytes_of(valid), "f").ok());
  const Counts counts = run(valid, valid.size(), [](std::span<const std::byte> bytes) {
    return parse_torch(bytes, "f");
  });
  EXPECT_GT(counts.parsed, 100);
  EXPECT_GT(counts.refused, 1000);
}

}  // namespace
}  // namespace trilith::checkpoint
