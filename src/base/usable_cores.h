// How many cores this process may keep busy.
#pragma once

namespace inferflux {

// The cores of the affinity mask, or fewer where a cgroup's CPU quota (v1 or v2) is smaller; a part of a core counts as
// one. At least 1.
int UsableCores();

}  // namespace inferflux
