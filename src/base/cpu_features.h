// Which instruction sets this process may use: what the CPU has, the kernel allows, and the user did not forbid.
#pragma once

#include <string_view>

#include "base/result.h"

namespace inferflux {

// One name a family of matrix kernels, from the plainest up. kAmx includes kAvx512Vnni; that and kAvxVnni include
// kAvx2.
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

// The best set of kernels that this machine runs, or the one that INFERFLUX_CPU_ISA names (scalar, avx2, avx-vnni,
// avx512-vnni, amx, neon). A name that is unknown or that the machine cannot run is an error that says so.
Result<CpuIsa> SelectCpuIsa();
std::string_view CpuIsaName(CpuIsa isa);

}  // namespace inferflux
