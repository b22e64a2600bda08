// A driver's library, opened at run time.
#pragma once

#include <optional>
#include <string>

namespace inferflux::hardware {

class SharedLibrary {
 public:
  // Empty if there is no such library. Once open it stays so until the program ends: drivers leave threads and handlers
  // behind that a closed library would pull the code from.
  static std::optional<SharedLibrary> Open(const std::string& name);

  // Finds a function; null if the library has none of that name.
  template <class Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(Symbol(name));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* Symbol(const char* name) const;

  void* handle_;
};

}  // namespace inferflux::hardware
