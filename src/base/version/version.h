#pragma once

namespace inferflux {

// The version of this build, such as "0.1.0". One source alone is compiled with it, so that a build of another version
// compiles one file again.
extern const char kVersion[];

}  // namespace inferflux
