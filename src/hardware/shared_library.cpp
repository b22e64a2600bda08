#include "hardware/shared_library.h"

#include <dlfcn.h>

namespace inferflux::hardware {

std::optional<SharedLibrary> SharedLibrary::Open(const std::string& name) {
  if (name.empty()) return std::nullopt;
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  return SharedLibrary(handle);
}

void* SharedLibrary::Symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace inferflux::hardware
