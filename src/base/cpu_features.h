// Which instruction sets the processor has and the operating system lets this process use. Includes nothing else of the
// project: configuring a build compiles it too (cmake/InferfluxCpu.cmake).
#pragma once

#include <string_view>

namespace inferflux {

// One name per set of CPU kernels, from the plainest up. kAmx includes kAvx512Vnni; that and kAvxVnni include kAvx2.
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

// Whether a machine with these features runs the kernels of `isa`.
bool Runs(const CpuFeatures& features, CpuIsa isa);

std::string_view CpuIsaName(CpuIsa isa);

}  // namespace inferflux
