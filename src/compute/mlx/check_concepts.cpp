// Checks the concepts where the backend is built, not where it is first used.
#include "compute/bundles.h"
#include "compute/device_features.h"
#include "compute/latent_kv.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/recurrent_state.h"

namespace inferflux::compute {

static_assert(MoeLlmBackend<Mlx, KvFp32> && MoeLlmBackend<Mlx, KvFp16> && MoeLlmBackend<Mlx, KvBf16>);
static_assert(!PagedKv<Mlx, KvInt8> && !PagedKv<Mlx, KvFp8>);
static_assert(AddressableKv<Mlx, KvFp32> && AddressableKv<Mlx, KvFp16>);
static_assert(LoadNotes<Mlx> && ActOrder<Mlx> && OwnWeightLayouts<Mlx> && DeviceTimer<Mlx>);
static_assert(!BatchInvariant<Mlx>);  // a matmul of many rows uses another kernel than that of one row
static_assert(SelectiveScans<Mlx>);
static_assert(SparseKv<Mlx, KvFp32> && SparseKv<Mlx, KvFp16> && SparseKv<Mlx, KvBf16>);
static_assert(StreamMixing<Mlx> && ActivationSparsity<Mlx>);

}  // namespace inferflux::compute
