// The seam is checked where the backend is built, not where it is first used.
#include "compute/optional_ops.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

static_assert(Backend<Reference>);
static_assert(PagedKv<Reference, KvFp32> && PagedKv<Reference, KvFp16> && PagedKv<Reference, KvBf16> &&
              PagedKv<Reference, KvInt8> && PagedKv<Reference, KvFp8>);
static_assert(BatchInvariant<Reference>);
static_assert(LayerNorms<Reference> && Activations<Reference> && SoftCaps<Reference> && TensorScales<Reference> &&
              MoeRouting<Reference>);
static_assert(!ActOrder<Reference>);  // what it computes with floats shows whether others put inputs in order right
static_assert(AttentionSinks<Reference, KvFp32>);

}  // namespace inferflux::compute
