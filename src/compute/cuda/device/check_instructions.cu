// Uses each function of the device headers once, so that nvcc and ptxas see all of their inline PTX. It is never
// launched it.
#include "compute/cuda/device/async_copy.h"
#include "compute/cuda/device/atomic.h"
#include "compute/cuda/device/half.h"
#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"

namespace inferflux::cuda {

__global__ void CheckInstructions(const float* in, float* out, unsigned* counters, unsigned long long* wide) {
  float* shared = SharedMemory<float>();
  CopyAsync16(shared + 4 * ThreadIndex().x, in + 4 * ThreadIndex().x, in[0] > 0.0f);
  CommitCopies();
  WaitCopies<1>();
  WaitCopies<0>();
  SyncThreads();
  SyncWarp();

  FragmentA a;
  FragmentB b;
  LoadMatrix4(a.x, shared + 4 * Lane());
  LoadMatrix4<true>(a.x, shared + 4 * a.x[0]);
  LoadMatrix2(b.x, shared + 4 * a.x[1]);
  LoadMatrix2<true>(b.x, shared + 4 * b.x[0]);
  FragmentC<float> sums{};
  FragmentC<int32_t> whole{};
  MatMulAdd<Fp16>(sums, a, b);
  MatMulAdd<Bf16>(sums, a, b);
#if __CUDA_ARCH__ >= 890
  MatMulAdd<Fp8>(sums, a, b);
#endif
  MatMulAdd(whole, a, b);

  float value = WarpSum(sums.x[0] + sums.x[3]) + static_cast<float>(WarpMax(whole.x[0] + whole.x[3]));
  value += Shuffle(kFullWarp, value, 3);
  value += static_cast<float>(Ballot(kFullWarp, value > 0.0f));
  if (Any(kFullWarp, value > 1.0f) && !All(kFullWarp, value > 2.0f)) value += 1.0f;
  value += AsFloat(FromFloat<Fp16>(value)) + AsFloat(FromFloat<Bf16>(value)) + AsFloat(FromFloat<Fp8>(value));

  AtomicAdd(out, value);
  AtomicAdd(counters, FloatBits(value));
  AtomicMax(counters + 1, AtomicLoad(counters));
  AtomicMax(wide, 3ull);
  AtomicExchange(counters + 2, 5u);
  AtomicCompareAndSwap(counters + 3, 6u, 7u);
  FenceDevice();
}

}  // namespace inferflux::cuda
