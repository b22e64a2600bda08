#include "base/version/version.h"

namespace inferflux {

const char kVersion[] = INFERFLUX_VERSION;

}  // namespace inferflux
