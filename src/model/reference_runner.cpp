// The reference backend's runners, instantiated once here to save compile time elsewhere.
#include "compute/reference/reference_backend.h"
#include "model/model_runner.h"

namespace inferflux::model {

template class ModelRunner<compute::Reference, compute::KvFp32>;
template class ModelRunner<compute::Reference, compute::KvFp16>;
template class ModelRunner<compute::Reference, compute::KvBf16>;
template class ModelRunner<compute::Reference, compute::KvInt8>;
template class ModelRunner<compute::Reference, compute::KvFp8>;

}  // namespace inferflux::model
