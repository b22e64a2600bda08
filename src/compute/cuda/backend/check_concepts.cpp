// Checks the concepts where the backend is built, not where it is first used.
#include "compute/bundles.h"
#include "compute/cuda/cuda_backend.h"
#include "compute/device_features.h"
#include "compute/latent_kv.h"
#include "compute/rank_collectives.h"
#include "compute/recurrent_state.h"

namespace inferflux::compute {

static_assert(LlmBackend<Cuda, KvFp32> && LlmBackend<Cuda, KvFp16> && LlmBackend<Cuda, KvBf16> &&
              LlmBackend<Cuda, KvInt8> && LlmBackend<Cuda, KvFp8>);
static_assert(MoeLlmBackend<Cuda, KvFp16> && MoeLlmBackend<Cuda, KvInt8> && ActOrder<Cuda>);
static_assert(AttentionSinks<Cuda, KvFp16> && AttentionBiases<Cuda, KvFp32> && TensorScales<Cuda>);
static_assert(AddressableKv<Cuda, KvFp16> && AddressableKv<Cuda, KvInt8> && DeviceTimer<Cuda>);
static_assert(DeviceSampling<Cuda> && SelectiveScans<Cuda> && GraphCapture<Cuda> && MeasuresRates<Cuda> &&
              AddNorms<Cuda> && GateProducts<Cuda> && LateResults<Cuda> && TwoStreams<Cuda>);
static_assert(SparseKv<Cuda, KvFp32> && SparseKv<Cuda, KvBf16> && SparseKv<Cuda, KvInt8> && SparseKv<Cuda, KvFp8>);
static_assert(StreamMixing<Cuda> && ActivationSparsity<Cuda> && RankCollectives<Cuda> && DeviceCollectives<Cuda>);
static_assert(!BatchInvariant<Cuda>);  // cuBLASLt chooses a kernel by the number of rows

}  // namespace inferflux::compute
