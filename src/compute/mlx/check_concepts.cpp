// The seam is checked where the backend is built, not where it is first used.
#include "compute/mlx/mlx_backend.h"
#include "compute/optional_ops.h"

namespace inferflux::compute {

static_assert(Backend<Mlx>);
static_assert(PagedKv<Mlx, KvFp32> && PagedKv<Mlx, KvFp16> && PagedKv<Mlx, KvBf16>);
static_assert(!PagedKv<Mlx, KvInt8> && !PagedKv<Mlx, KvFp8>);
static_assert(LayerNorms<Mlx> && Activations<Mlx> && SoftCaps<Mlx> && TensorScales<Mlx> && MoeRouting<Mlx>);
static_assert(AttentionSinks<Mlx, KvFp32> && AttentionSinks<Mlx, KvFp16> && AttentionSinks<Mlx, KvBf16>);
static_assert(LoadNotes<Mlx> && ActOrder<Mlx>);
static_assert(!BatchInvariant<Mlx>);  // a product of many rows is another kernel than that of one

}  // namespace inferflux::compute
