// The seam is checked where the backend is built, not where it is first used.
#include "compute/backend.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/optional_ops.h"

namespace inferflux::compute {

static_assert(Backend<Cpu>);
static_assert(PagedKv<Cpu, KvFp32> && PagedKv<Cpu, KvFp16> && PagedKv<Cpu, KvBf16> && PagedKv<Cpu, KvInt8> &&
              PagedKv<Cpu, KvFp8>);
static_assert(BatchInvariant<Cpu>);
static_assert(LayerNorms<Cpu> && Activations<Cpu> && SoftCaps<Cpu> && TensorScales<Cpu> && MoeRouting<Cpu>);
static_assert(ActOrder<Cpu>);
static_assert(AttentionSinks<Cpu, KvFp32> && AttentionSinks<Cpu, KvFp16> && AttentionSinks<Cpu, KvBf16> &&
              AttentionSinks<Cpu, KvInt8> && AttentionSinks<Cpu, KvFp8>);
static_assert(QuantWeights<Cpu, formats::TensorType::kQ4_K> && QuantWeights<Cpu, formats::TensorType::kQ6_K>);

}  // namespace inferflux::compute
