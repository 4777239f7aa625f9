// .npy files: what numpy.save writes is read, and nothing else is.
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/npy_reader.h"

namespace trilith::checkpoint {
namespace {

std::string npy(const std::string& header, const std::string& data, char major = 1) {
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  if (major > 1) file += std::string(2, '\0');
  return file + header + data;
}

Result<NpyContent> parse(const std::string& file) {
  return parse_npy(std::as_bytes(std::span(file.data(), file.size())), "a.npy");
}

std::string floats(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

constexpr const char* kMatrix = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n";

TEST(Npy, RowsOfFloats) {
  const std::string file = npy(kMatrix, floats({1, 2, 3, 4, 5, 6}));
  const auto content = parse(file);
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  EXPECT_EQ(content->tensor.dtype, DType::kF32);
  EXPECT_EQ(content->tensor.shape, (Shape{2, 3}));
  EXPECT_EQ(to_floats(content->tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(content->copy, nullptr);
}

TEST(Npy, ColumnsAreTurnedIntoRows) {
  const std::string file =
      npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", floats({1, 4, 2, 5, 3, 6}));
  const auto content = parse(file);
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  EXPECT_EQ(to_floats(content->tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ScalarsVectorsAndNothing) {
  for (const auto& [shape, count] :
       {std::pair("()", 1), std::pair("(3,)", 3), std::pair("(0, 7)", 0)}) {
    const std::string file =
        npy("{'shape': " + std::string(shape) + ", 'fortran_order': True, \"descr\": '|i1'}",
            std::string(static_cast<size_t>(count), 'x'), 3);
    const auto content = parse(file);
    ASSERT_TRUE(content.ok()) << shape << content.error().to_string();
    EXPECT_EQ(content->tensor.count(), static_cast<uint64_t>(count));
  }
}

TEST(Npy, RefusesWithAReason) {
  const std::string data = floats({1, 2, 3, 4, 5, 6});
  const struct {
    std::string file;
    std::string words;
  } cases[] = {
      {"", "no .npy file"},
      {"PK\x03\x04 and so on", "no .npy file"},
      {npy(kMatrix, data, 4), "version"},
      {npy(kMatrix, data).substr(0, 30), "end too early"},
      {npy(kMatrix, data + "x"), "not as long"},
      {npy(kMatrix, data.substr(1)), "not as long"},
      {npy("{'descr': '|O', 'fortran_order': False, 'shape': (6,)}", data), "not executed"},
      {npy("{'descr': '>f4', 'fortran_order': False, 'shape': (6,)}", data), "newbyteorder"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", data), "no plain"},
      {npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", data), "no plain array"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", data), "no plain array"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (6)} + 1", data), "no plain array"},
      {npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", data),
       "no plain array"},
      {npy("{'descr': '<f4', 'fortran_order': False}", data), "no plain array"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2)}", data),
       ""},
      {npy(
           "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
               [] {
                 std::string ones;
                 for (int i = 0; i < 33; ++i) ones += "1, ";
                 return ones;
               }() +
               ")}",
           data),
       "no plain array"},
  };
  for (const auto& [file, words] : cases) {
    const auto content = parse(file);
    ASSERT_FALSE(content.ok()) << words;
    EXPECT_EQ(exit_code(content.error().kind), 4);
    EXPECT_EQ(content.error().file, "a.npy");
    EXPECT_NE(content.error().to_string().find(words), std::string::npos)
        << content.error().to_string();
  }
}

TEST(Npy, NoPrefixAndNoChangedByteOfTheHeaderCrashes) {
  const std::string whole = npy(kMatrix, floats({1, 2, 3, 4, 5, 6}));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse(whole.substr(0, size)).ok());
  for (size_t at = 0; at < whole.size() - 24; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      const auto content = parse(changed);
      if (!content.ok()) continue;
      EXPECT_EQ(content->tensor.bytes.size(), 24U);
    }
  }
}

}  // namespace
}  // namespace trilith::checkpoint
