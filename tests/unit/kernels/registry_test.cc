#include "kernels/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "kernels/float_environment.h"
#include "kernels/panels.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace trilith::kernels {
namespace {

using ::testing::HasSubstr;

class ForcedSet {
 public:
  explicit ForcedSet(const char* name) {
    if (const char* old = std::getenv("TRILITH_ISA"); old != nullptr) old_ = old;
    setenv("TRILITH_ISA", name, 1);
  }
  ~ForcedSet() { old_.empty() ? unsetenv("TRILITH_ISA") : setenv("TRILITH_ISA", old_.c_str(), 1); }

 private:
  std::string old_;
};

TEST(Registry, EnvironmentForcesASet) {
  for (const std::string& name : available_sets()) {
    const ForcedSet forced(name.c_str());
    const auto set = choose_kernels();
    ASSERT_TRUE(set.ok()) << set.error().to_string();
    EXPECT_EQ((*set)->name, name);
  }
}

TEST(Registry, AnExplicitNameBeatsTheEnvironment) {
  const ForcedSet forced("no-such-set");
  EXPECT_EQ((*choose_kernels("scalar"))->name, std::string("scalar"));
}

TEST(Registry, UnknownAndImpossibleSetsAreUsageErrors) {
  {
    const ForcedSet forced("avx1024");
    const auto set = choose_kernels();
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(set.error().to_string(), HasSubstr("avx1024"));
  }
  const CpuFeatures nothing;
  EXPECT_EQ(available_sets(nothing), std::vector<std::string>{"scalar"});
  EXPECT_EQ((*choose_kernels("", nothing))->name, std::string("scalar"));
  if (available_sets().size() > 1) {
    const auto set = choose_kernels(available_sets().back(), nothing);
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.error().kind, ErrorKind::kUsage);
  }
}

void wrong_add(const float* a, const float* b, int64_t n, float* out) {
  scalar_kernels.add(a, b, n, out);
  out[n - 1] = -out[n - 1];
}
void wrong_dot(const PanelDot& dot) {
  scalar_kernels.panel2_dot(dot);
  dot.acc[dot.acc_stride + 3] += 1;
}

TEST(Registry, SelfCheckNamesTheWrongKernel) {
  EXPECT_TRUE(check_against_scalar(scalar_kernels).ok());
  KernelSet broken = scalar_kernels;
  broken.add = wrong_add;
  const Status add = check_against_scalar(broken);
  ASSERT_FALSE(add.ok());
  EXPECT_THAT(add.error().to_string(), HasSubstr("kernel add"));
  broken = scalar_kernels;
  broken.panel2_dot = wrong_dot;
  const Status dot = check_against_scalar(broken);
  ASSERT_FALSE(dot.ok());
  EXPECT_THAT(dot.error().to_string(), HasSubstr("panel2_dot"));
}

TEST(Panels, LayoutIsTheDocumentedOne) {
  // Row 16f + r in bits 2f of byte 4r + k of line b, column 4b + k.
  std::vector<int8_t> weights(64 * 8, 0);
  weights[static_cast<size_t>((16 * 2 + 5) * 8 + (4 * 1 + 3))] = 1;
  weights[static_cast<size_t>((16 * 3 + 0) * 8 + 0)] = -1;
  const Panels panels = *pack_panels(weights, 64, 8);
  EXPECT_EQ(panels.bits, 2);
  EXPECT_EQ(panels.code_offset, 1);
  const auto* bytes = panels.data.as<uint8_t>();
  EXPECT_EQ(bytes[64 + 4 * 5 + 3], 0b01100101);
  EXPECT_EQ(bytes[0], 0b00010101);
  EXPECT_EQ(bytes[1], 0b01010101);
  EXPECT_EQ(panels.row_sums[37], 1);
  EXPECT_EQ(panels.row_sums[48], -1);
}

TEST(Panels, TooWideIsRefused) {
  const std::vector<int8_t> weights(kMaxPanelColumns + 1, 1);
  const auto panels = pack_panels(weights, 1, kMaxPanelColumns + 1);
  ASSERT_FALSE(panels.ok());
  EXPECT_EQ(panels.error().kind, ErrorKind::kUnsupported);
}

#if defined(__x86_64__)
TEST(FloatEnvironment, SetsTheModeAndGivesItBack) {
  const unsigned original = _mm_getcsr();
  const unsigned hostile = 0x1f80U | 0x8040U | 0x6000U;  // FTZ, DAZ, toward zero
  _mm_setcsr(hostile);
  volatile float tiny = std::numeric_limits<float>::min();
  float inside = 0;
  {
    const FloatEnvironment environment;
    EXPECT_EQ(_mm_getcsr() & 0xffc0U, 0x1f80U);
    inside = tiny * 0.5F;
  }
  EXPECT_EQ(_mm_getcsr() & 0xffc0U, hostile);
  const float outside = tiny * 0.5F;
  _mm_setcsr(original);
  EXPECT_GT(inside, 0.0F);
  EXPECT_EQ(outside, 0.0F);
}
#endif

}  // namespace
}  // namespace trilith::kernels
