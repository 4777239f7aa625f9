// What the processor and the operating system allow, read once. Unknown architectures report none.
#pragma once

#include <string>
#include <vector>

namespace trilith {

struct CpuFeatures {
  bool avx2 = false;  // with FMA and F16C, and YMM state enabled by the system
  bool avx_vnni = false;
  bool avx512 = false;  // F, BW, VL, DQ, VNNI and VBMI, and ZMM state enabled by the system
  bool amx_int8 = false;
  bool neon_dotprod = false;
  std::string name;  // "AMD EPYC …", or empty

  // The instruction sets usable here, weakest first; "scalar" always.
  std::vector<std::string> instruction_sets() const;
};

const CpuFeatures& cpu_features();

}  // namespace trilith
