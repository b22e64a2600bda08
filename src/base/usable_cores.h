// How many cores this process may keep busy.
#pragma once

namespace inferflux {

// The number of cores in the affinity mask, or fewer if a cgroup's CPU quota (v1 or v2) is smaller. A fraction of a
// core counts as one. At least 1.
int UsableCores();

}  // namespace inferflux
