// Checks the concepts where the backend is built, not where it is first used.
#include "compute/bundles.h"
#include "compute/device_features.h"
#include "compute/latent_kv.h"
#include "compute/recurrent_state.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

static_assert(MoeLlmBackend<Reference, KvFp32> && MoeLlmBackend<Reference, KvFp16> &&
              MoeLlmBackend<Reference, KvBf16> && MoeLlmBackend<Reference, KvInt8> && MoeLlmBackend<Reference, KvFp8>);
static_assert(AddressableKv<Reference, KvFp32> && AddressableKv<Reference, KvInt8>);
static_assert(BatchInvariant<Reference> && DeviceTimer<Reference>);
static_assert(!ActOrder<Reference>);  // it dequantises to floats, and so tests how other backends apply the permutation
static_assert(SelectiveScans<Reference>);
static_assert(StreamMixing<Reference> && ActivationSparsity<Reference>);
static_assert(SparseKv<Reference, KvFp32> && SparseKv<Reference, KvInt8>);

}  // namespace inferflux::compute
