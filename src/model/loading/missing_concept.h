// The error for a model that needs an operation that its backend lacks.
#pragma once

#include "base/result.h"
#include "compute/backend.h"
#include "model/model_config.h"

namespace inferflux::model {

// `concept_name`: one of compute/optional_ops.h.
template <compute::Backend B>
tl::unexpected<Error> MissingConcept(const ModelConfig& config, const char* concept_name) {
  return Fail(ErrorCode::kUnsupported, "architecture '{}' needs {}, which the {} backend does not have",
              config.architecture, concept_name, B::kName);
}

}  // namespace inferflux::model
