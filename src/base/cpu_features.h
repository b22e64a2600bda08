// The instruction sets that this process may use: what the CPU has, the kernel allows, and the user did not forbid.
#pragma once

#include <string_view>

#include "base/result.h"

namespace inferflux {

// One name for each family of matmul kernels, from the simplest up. kAmx includes kAvx512Vnni; kAvx512Vnni and kAvxVnni
// include kAvx2.
enum class CpuIsa { kScalar, kAvx2, kAvxVnni, kAvx512Vnni, kAmx, kNeon };

struct CpuFeatures {
  bool avx2 = false;         // with FMA and F16C
  bool avx_vnni = false;     // AVX2's registers, for processors without AVX-512 too
  bool avx512_vnni = false;  // with F, BW, DQ, VL and VNNI
  bool avx512_bf16 = false;
  bool amx_int8 = false;  // tiles that the kernel has granted to this process
  bool amx_bf16 = false;
  bool neon_dotprod = false;
};

const CpuFeatures& DetectCpuFeatures();

// The best set of kernels for this machine, or the one that INFERFLUX_CPU_ISA names (scalar, avx2, avx-vnni,
// avx512-vnni, amx, neon). An unknown name, or one that the machine cannot run, is an error.
Result<CpuIsa> SelectCpuIsa();
std::string_view CpuIsaName(CpuIsa isa);

}  // namespace inferflux
