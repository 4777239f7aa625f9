#include "base/result.h"

#include <gtest/gtest.h>

namespace trilith {
namespace {

Result<int> half_of(int value) {
  if (value % 2 != 0) return Error::damaged("odd").with_found(std::to_string(value));
  return value / 2;
}

Result<int> quarter_of(int value) {
  TRILITH_ASSIGN_OR_RETURN(const int half, half_of(value));
  return half_of(half);
}

TEST(Result, PropagatesTheFirstError) {
  EXPECT_EQ(*quarter_of(12), 3);
  const auto failed = quarter_of(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().found, "3");
}

TEST(Error, SaysFileTensorOffsetExpectedFoundAndHintOnOneLine) {
  const Error error = Error::damaged("bad\nname")
                          .with_file("m.safetensors")
                          .with_tensor("w\x01")
                          .with_offset(8)
                          .with_expected("4")
                          .with_found("5")
                          .with_hint("do this");
  EXPECT_EQ(error.to_string(),
            "m.safetensors: tensor 'w\\x01': bad\\x0aname (at byte 8; expected 4; found 5). "
            "Hint: do this");
}

TEST(Error, OuterContextDoesNotReplaceTheInnerFile) {
  EXPECT_EQ(Error::runtime("x").with_file("inner").with_file("outer").file, "inner");
}

TEST(Error, ExitCodesFollowTheContract) {
  EXPECT_EQ(exit_code(ErrorKind::kRuntime), 1);
  EXPECT_EQ(exit_code(ErrorKind::kUsage), 2);
  EXPECT_EQ(exit_code(ErrorKind::kVerification), 3);
  EXPECT_EQ(exit_code(ErrorKind::kDamaged), 4);
  EXPECT_EQ(exit_code(ErrorKind::kUnsupported), 4);
  EXPECT_EQ(exit_code(ErrorKind::kAmbiguous), 4);
  EXPECT_EQ(exit_code(ErrorKind::kInterrupted), 130);
}

}  // namespace
}  // namespace trilith
