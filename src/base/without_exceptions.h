// The boundary to libraries that report errors by exceptions: turns exceptions into errors.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace inferflux {

// An Error as an exception, for operations that return no result: WithoutExceptions hands it on as it is.
class ThrownError : public std::exception {
 public:
  explicit ThrownError(Error error) : error_(std::move(error)) {}

  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// Returns what `f` returns, a Result. If `f` throws, returns an error that begins with `doing`.
template <class F>
auto WithoutExceptions(std::string_view doing, F f) -> decltype(f()) {
  try {
    return f();
  } catch (const ThrownError& thrown) {
    return Fail(thrown.error().code, "{}: {}", doing, thrown.error().message);
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, "{}: out of memory", doing);
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInternal, "{}: {}", doing, error.what());
  }
}

}  // namespace inferflux
