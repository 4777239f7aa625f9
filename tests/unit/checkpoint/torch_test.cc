// parse_pickle and parse_torch on pickles made by hand: what is built, and what is refused.
#include <gtest/gtest.h>

#include "checkpoint/pickle.h"
#include "checkpoint/torch_reader.h"
#include "raw_file.h"
#include "raw_torch.h"

namespace trilith::checkpoint {
namespace {

using namespace pickled;

const std::string kStorage = storage("ByteStorage", "0");

std::string tensor_file(const std::string& value) { return raw_torch(whole(dict({{"w", value}}))); }

TEST(TorchReader, ViewsContiguousTensorsAndCopiesOthers) {
  const std::string file = raw_torch(
      whole(dict({{"row", tensor(kStorage, 4, numbers({2, 3}), numbers({3, 1}))},
                  {"columns", tensor(kStorage, 0, numbers({3, 2}), numbers({1, 3}))},
                  {"halves", tensor(storage("HalfStorage", "0"), 1, numbers({2}), numbers({2}))},
                  {"wide", tensor(kStorage, 0, numbers({2, 1}), numbers({1, 77}))}})));
  const auto content = parse_torch(bytes_of(file), "f.pt");
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  ASSERT_EQ(content->tensors.size(), 4U);
  const auto text = [&](size_t i) {
    const auto bytes = content->tensors[i].bytes;
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  EXPECT_EQ(text(0), "efghij");
  EXPECT_EQ(content->tensors[0].shape, (Shape{2, 3}));
  EXPECT_EQ(text(1), "adbecf");
  EXPECT_EQ(text(2), "cdgh");
  EXPECT_EQ(text(3), "ab");  // a stride along one element says nothing
  EXPECT_EQ(content->copies.size(), 2U);
}

TEST(TorchReader, RefusesWrongTensors) {
  const auto typed = [](const std::string& type, const std::string& function) {
    return call(
        global("torch._tensor", "_rebuild_from_type_v2"),
        tuple({function, type, tuple({kStorage, number(0), numbers({2}), numbers({1})}), "}"}));
  };
  const std::string builder = global("torch._utils", "_rebuild_tensor_v2");
  struct Case {
    const char* what;
    std::string value;
    const char* says;
  };
  const Case cases[] = {
      {"behind the storage", tensor(kStorage, 20, numbers({5}), numbers({1})),
       "beyond its storage"},
      {"stride behind the storage", tensor(kStorage, 0, numbers({3}), numbers({12})),
       "beyond its storage"},
      {"wider elements", tensor(storage("LongStorage", "0"), 0, numbers({4}), numbers({1})),
       "beyond its storage"},
      {"negative size", tensor(kStorage, 0, numbers({-1}), numbers({1})), "a size or stride"},
      {"negative stride", tensor(kStorage, 0, numbers({2}), numbers({-1})), "a size or stride"},
      {"negative offset", tensor(kStorage, -1, numbers({2}), numbers({1})), "an offset"},
      {"absurd size", tensor(kStorage, 0, numbers({1 << 30, 1 << 30, 1 << 30}), numbers({0, 0, 0})),
       "too many elements"},
      {"absurd stride",
       tensor(kStorage, 0, numbers({1 << 30, 1 << 30}), numbers({1 << 30, 1 << 30})),
       "strides beyond any storage"},
      {"absurd copy", tensor(kStorage, 0, numbers({1 << 30}), numbers({0})), "too large"},
      {"fewer strides", tensor(kStorage, 0, numbers({2, 3}), numbers({1})), "size and stride"},
      {"size that is text", tensor(kStorage, 0, text("ab"), numbers({1})), "a size that is none"},
      {"no such storage", tensor(storage("ByteStorage", "9"), 0, numbers({1}), numbers({1})),
       "an entry data/9"},
      {"storage elsewhere",
       tensor(storage("ByteStorage", "../byteorder"), 0, numbers({1}), numbers({1})),
       "an entry data/../byteorder"},
      {"complex", tensor(storage("ComplexFloatStorage", "0"), 0, numbers({1}), numbers({1})),
       "torch.ComplexFloatStorage"},
      {"no storage", tensor(number(1), 0, numbers({1}), numbers({1})), "no storage"},
      {"storage of one part", tensor(tuple({text("storage")}) + "Q", 0, numbers({1}), numbers({1})),
       "no storage"},
      {"too few arguments", call(builder, tuple({kStorage})), "too few arguments"},
      {"parameter of a number",
       call(global("torch._utils", "_rebuild_parameter"), tuple({number(1)})), "no tensor"},
      {"parameter of nothing", call(global("torch._utils", "_rebuild_parameter"), tuple({})),
       "a parameter of nothing"},
      {"another class", typed(global("torchao", "AffineQuantizedTensor"), builder),
       "torchao.AffineQuantizedTensor"},
      {"another builder", typed(global("torch", "Tensor"), global("os", "system")), "no tensor"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string file = tensor_file(c.value);
    const auto content = parse_torch(bytes_of(file), "f.pt");
    ASSERT_FALSE(content.ok());
    EXPECT_EQ(exit_code(content.error().kind), 4);
    EXPECT_EQ(content.error().file, "f.pt");
    EXPECT_EQ(content.error().tensor, "w");
    EXPECT_NE(content.error().to_string().find(c.says), std::string::npos)
        << content.error().to_string();
  }
  const std::string file = tensor_file(typed(global("torch", "Tensor"), builder));
  EXPECT_TRUE(parse_torch(bytes_of(file), "f.pt").ok());
}

TEST(TorchReader, WalksSharedValuesWithABound) {
  std::string self = "]q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "a";
  std::string doubled = "]";  // 2^25 empty lists, from 26 small ones
  for (char i = 0; i < 25; ++i) {
    doubled = "](" + doubled + "q" + std::string(1, i) + "h" + std::string(1, i) + "e";
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "](";
  for (int i = 0; i < 100; ++i) deep += "e";
  std::string repeated = "](" + text(std::string(1 << 20, 'x')) + "q" + std::string(1, '\0');
  for (int i = 0; i < 100; ++i) repeated += "h" + std::string(1, '\0');
  repeated += "e";
  for (const auto& [value, says] :
       {std::pair(repeated, "too much text"), std::pair(self, "nested too deeply"),
        std::pair(deep, "nested too deeply"), std::pair(doubled, "too many values")}) {
    const std::string file = raw_torch(whole(value));
    const auto content = parse_torch(bytes_of(file), "f.pt");
    ASSERT_FALSE(content.ok());
    EXPECT_NE(content.error().to_string().find(says), std::string::npos)
        << content.error().to_string();
  }
}

TEST(TorchReader, RefusesNamesThatMeet) {
  const std::string one = tensor(kStorage, 0, numbers({1}), numbers({1}));
  const std::string file = raw_torch(whole(dict({{"a.b", one}, {"a", dict({{"b", one}})}})));
  const auto content = parse_torch(bytes_of(file), "f.pt");
  ASSERT_FALSE(content.ok());
  EXPECT_EQ(content.error().tensor, "a.b");
}

TEST(TorchReader, RefusesOtherArchives) {
  RawZip zip;
  zip.add("a.npy", "x");
  EXPECT_NE(parse_torch(bytes_of(zip.bytes()), "f").error().to_string().find("no PyTorch"),
            std::string::npos);
  std::string file = raw_torch(whole("}"));
  ASSERT_TRUE(parse_torch(bytes_of(file), "f").ok());
  file[file.find("\x80\x02}.") + 2] = ']';
  EXPECT_NE(parse_torch(bytes_of(file), "f").error().to_string().find("checksum"),
            std::string::npos);
}

TEST(Pickle, RefusesEverythingButData) {
  struct Case {
    const char* what;
    std::string pickle;
    const char* says;
  };
  const std::string system = global("os", "system");
  const Case cases[] = {
      {"empty", "", "end too early"},
      {"protocol 1", std::string("\x80\x01}."), "protocol"},
      {"no stop", "\x80\x02}", "end too early"},
      {"nothing left", "\x80\x02.", "more or less than one value"},
      {"two left", whole("}}"), "more or less than one value"},
      {"an open mark", whole("(}"), "more or less than one value"},
      {"a call", whole(call(system, tuple({text("ls")}))), "calls os.system"},
      {"a call of another module", whole(call(global("torch", "load"), tuple({}))), "torch.load"},
      {"a name with a dot in it",
       whole(call(global("torch._utils", "x._rebuild_tensor_v2"), tuple({}))),
       "calls torch._utils.x._rebuild_tensor_v2"},
      {"a call of a text", whole(call(text("os.system"), tuple({}))), "no named function"},
      {"a call without a tuple", whole(system + number(1) + "R"), "no named function"},
      {"an object", whole(system + tuple({}) + "\x81"), "an object of os.system"},
      {"an object with keywords", whole(system + tuple({}) + "}\x92"), "an object of os.system"},
      {"an instance of protocol 0", whole("(ios\nsystem\n"), "opcode"},
      {"a text of protocol 0", whole(system + "(S'ls'\ntR"), "after naming os.system"},
      {"state of a global", whole(system + "}b"), "state of an object"},
      {"state that is no dict", whole("})b"), "state of an object"},
      {"an extension", whole("\x82\x01"), "opcode"},
      {"a tuple of more than there is", whole("}\x87"), "more values than it has"},
      {"a tuple across a mark", whole("}(\x85"), "more values than it has"},
      {"a tuple without a mark", whole("t"), "more values than it has"},
      {"an item of a list", whole("]NNs"), "no dict"},
      {"an odd dict", whole("}(Nu"), "no dict"},
      {"an item appended to a dict", whole("}Na"), "no list"},
      {"a recall of nothing", whole("h\x05"), "recalls"},
      {"a memory of nothing", whole("q\x05"), "remembers"},
      {"a cut text", "\x80\x02X\x10", "end too early"},
      {"a text longer than the file", whole("X\xff\xff\xff\x7fx"), "end too early"},
      {"a text that is none", whole(text("\xff")), "not UTF-8"},
      {"a name that is none", whole(global("\xff", "a")), "not UTF-8"},
      {"an endless name", "\x80\x02" + std::string("cos.system"), "end too early"},
      {"a long name", whole(global("os", std::string(2000, 'x'))), "too long"},
      {"a global of numbers", whole("NN\x93"), "no name"},
      {"too many values", whole(std::string(3 << 20, 'N')), "too many values"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const auto pickle = parse_pickle(bytes_of(c.pickle), {});
    ASSERT_FALSE(pickle.ok());
    EXPECT_EQ(exit_code(pickle.error().kind), 4);
    EXPECT_TRUE(pickle.error().offset.has_value());
    EXPECT_NE(pickle.error().to_string().find(c.says), std::string::npos)
        << pickle.error().to_string();
  }
}

TEST(Pickle, ReadsIntegersOfAnyLength) {
  const auto integer = [](const std::string& bytes) {
    const std::string pickle =
        whole("\x8a" + std::string(1, static_cast<char>(bytes.size())) + bytes);
    return parse_pickle(bytes_of(pickle), {})->values[0];
  };
  EXPECT_EQ(integer("").integer, 0);
  EXPECT_EQ(integer("\xff").integer, -1);
  EXPECT_EQ(integer(std::string("\xff\x00", 2)).integer, 255);
  EXPECT_EQ(integer(std::string("\0\0\0\0\0\0\0\x80", 8)).integer, INT64_MIN);
  EXPECT_EQ(integer(std::string("\0\0\0\0\0\0\0\0\x01", 9)).number, 18446744073709551616.0);
  EXPECT_EQ(integer(std::string("\0\0\0\0\0\0\0\0\xff", 9)).number, -18446744073709551616.0);
}

}  // namespace
}  // namespace trilith::checkpoint
