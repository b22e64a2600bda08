// What CUDA C++ adds to C++, for a compiler that is not nvcc: the keywords of kernels, and the source location of a
// call.
#pragma once

#ifdef __CUDACC__

namespace inferflux::cuda {
// Only the host executor tells call sites apart; here the argument vanishes.
struct Site {
  __host__ __device__ static constexpr Site current() { return {}; }
};
}  // namespace inferflux::cuda

#else

#include <source_location>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

namespace inferflux::cuda {
using Site = std::source_location;
}  // namespace inferflux::cuda

#endif

namespace inferflux::cuda {

// A count or an index in up to three dimensions, x fastest (PTX ISA, sections "%tid" and "%ctaid").
struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kFullWarp = 0xffffffffu;

}  // namespace inferflux::cuda
