// From a program's load options to a load of the serving floor.
#pragma once

#include <inferflux/load_options.h>

#include <string>

#include "embedded/call_error.h"
#include "serving/models/load_model.h"

namespace inferflux::embedded {

// Without the cancellation. kInvalidConfig names an option that is out of range, or that the only backend asked for
// cannot use.
Result<serving::LoadRequest> ToLoadRequest(std::string id, std::string path, const LoadOptions& options);

// kInvalidConfig names the option in which a load contradicts the one that the model `name` was loaded with.
Status CheckSameLoad(const std::string& name, const LoadOptions& asked, const LoadOptions& loaded);

// What a failed load means to a program.
Error OfLoad(const inferflux::Error& error);

}  // namespace inferflux::embedded
