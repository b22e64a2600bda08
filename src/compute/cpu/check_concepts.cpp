// Checks the concepts where the backend is built, not where it is first used.
#include "compute/bundles.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/device_features.h"
#include "compute/latent_kv.h"
#include "compute/rank_collectives.h"
#include "compute/recurrent_state.h"

namespace inferflux::compute {

static_assert(MoeLlmBackend<Cpu, KvFp32> && MoeLlmBackend<Cpu, KvFp16> && MoeLlmBackend<Cpu, KvBf16> &&
              MoeLlmBackend<Cpu, KvInt8> && MoeLlmBackend<Cpu, KvFp8>);
static_assert(AddressableKv<Cpu, KvFp32> && AddressableKv<Cpu, KvInt8>);
static_assert(ActOrder<Cpu> && OwnWeightLayouts<Cpu> && DeviceTimer<Cpu>);
static_assert(BatchInvariant<Cpu>);
static_assert(QuantWeights<Cpu, formats::TensorType::kQ6_K>);
static_assert(SelectiveScans<Cpu>);
static_assert(StreamMixing<Cpu> && ActivationSparsity<Cpu>);
static_assert(RankCollectives<Cpu>);
static_assert(SparseKv<Cpu, KvFp32> && SparseKv<Cpu, KvInt8>);

}  // namespace inferflux::compute
