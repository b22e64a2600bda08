// Checks of whole generations: the scheduler drives the engine as it does for a server.
#pragma once

#include "parity/check.h"

namespace inferflux::parity {

Finding CheckCrowd(const Generations& subject);
Finding CheckStops(const Generations& subject);
Finding CheckLength(const Generations& subject);
Finding CheckCancellation(const Generations& subject);
Finding CheckGrammars(const Generations& subject);

}  // namespace inferflux::parity
