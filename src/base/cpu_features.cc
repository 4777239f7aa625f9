#include "base/cpu_features.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace trilith {
namespace {

#if defined(__x86_64__)
struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(unsigned value, int index) { return ((value >> index) & 1U) != 0; }

// Which register files the system saves (XCR0).
unsigned enabled_state() {
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

CpuFeatures detect() {
  CpuFeatures features;
  const Registers basic = cpuid(1, 0);
  const Registers extended = cpuid(7, 0);
  const Registers more = cpuid(7, 1);
  const bool osxsave = bit(basic.ecx, 27);
  const unsigned state = osxsave ? enabled_state() : 0;
  const bool ymm = (state & 0x6U) == 0x6U;
  const bool zmm = (state & 0xe6U) == 0xe6U;
  const bool tiles = (state & 0x60000U) == 0x60000U;
  features.avx2 = ymm && bit(extended.ebx, 5) && bit(basic.ecx, 12) && bit(basic.ecx, 29);
  features.avx_vnni = features.avx2 && bit(more.eax, 4);
  features.avx512 = features.avx2 && zmm && bit(extended.ebx, 16) && bit(extended.ebx, 17) &&
                    bit(extended.ebx, 30) && bit(extended.ebx, 31) && bit(extended.ecx, 1) &&
                    bit(extended.ecx, 11);
  features.amx_int8 = features.avx512 && tiles && bit(extended.edx, 24) && bit(extended.edx, 25);
  char brand[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002U + i, 0);
    std::memcpy(brand + static_cast<size_t>(16) * i, &r, 16);
  }
  features.name = brand;
  while (!features.name.empty() && features.name.back() == ' ') features.name.pop_back();
  return features;
}
#elif defined(__aarch64__)
CpuFeatures detect() {
  CpuFeatures features;
  features.neon_dotprod = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  return features;
}
#else
CpuFeatures detect() { return {}; }
#endif

}  // namespace

std::vector<std::string> CpuFeatures::instruction_sets() const {
  std::vector<std::string> names = {"scalar"};
  if (avx2) names.emplace_back("avx2");
  if (avx_vnni) names.emplace_back("avx_vnni");
  if (avx512) names.emplace_back("avx512");
  if (amx_int8) names.emplace_back("amx");
  if (neon_dotprod) names.emplace_back("neon");
  return names;
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace trilith
