// The boundary to libraries that report errors by exceptions: turns exceptions into errors.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "base/result.h"

namespace inferflux {

// Returns what `f` returns, a Result. If `f` throws, returns an error that begins with `doing`.
template <class F>
auto WithoutExceptions(std::string_view doing, F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, "{}: out of memory", doing);
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInternal, "{}: {}", doing, error.what());
  }
}

}  // namespace inferflux
