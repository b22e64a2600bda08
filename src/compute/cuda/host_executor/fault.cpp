#include "compute/cuda/host_executor/fault.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace inferflux::cuda::executor {
namespace {

std::string Position(const Dim3& at) { return fmt::format("({}, {}, {})", at.x, at.y, at.z); }

// What addr2line says of an address in this program: the function, then file:line. Empty where there is no addr2line.
std::array<std::string, 2> Symbolise(const void* address) {
  std::array<std::string, 2> lines;
  Dl_info info{};
  if (dladdr(address, &info) == 0) return lines;
  const auto offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(info.dli_fbase);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = fmt::format("addr2line -Cfe '{}' {:#x} 2>/dev/null", program, offset);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  char buffer[2048];
  for (std::string& line : lines) {
    if (!pipe || std::fgets(buffer, sizeof(buffer), pipe.get()) == nullptr) break;
    line = buffer;
    while (!line.empty() && line.back() == '\n') line.pop_back();
  }
  return lines;
}

}  // namespace

const char* RuleName(Rule rule) {
  switch (rule) {
    case Rule::kLaunchLimit:
      return "launch limit";
    case Rule::kCallerNotInMask:
      return "caller not in mask";
    case Rule::kLanesApart:
      return "lanes apart";
    case Rule::kExitedLane:
      return "exited lane";
    case Rule::kPartialWarp:
      return "partial warp";
    case Rule::kShuffleSource:
      return "shuffle source";
    case Rule::kBarrierDivergence:
      return "barrier divergence";
    case Rule::kWaitsForOtherBlock:
      return "waits for another block";
    case Rule::kOutOfBounds:
      return "out of bounds";
    case Rule::kUseAfterFree:
      return "use after free";
    case Rule::kForeignMemory:
      return "foreign memory";
    case Rule::kUninitialised:
      return "uninitialised read";
    case Rule::kMisaligned:
      return "misaligned access";
    case Rule::kRaceInBlock:
      return "race in a block";
    case Rule::kRaceBetweenBlocks:
      return "race between blocks";
    case Rule::kCopyInFlight:
      return "asynchronous copy in flight";
    case Rule::kExecutorLimit:
      return "executor limit";
  }
  return "?";
}

Error ToError(const Fault& fault) {
  return {ErrorCode::kInternal,
          fmt::format("kernel {}, block {}, thread {}, {}: {}: {}", fault.kernel, Position(fault.block),
                      Position(fault.thread), fault.site, RuleName(fault.rule), fault.detail)};
}

std::string Where(const std::source_location& site) {
  return fmt::format("{}:{}", std::filesystem::path(site.file_name()).filename().string(), site.line());
}

std::string FunctionName(const void* function) {
  const std::string name = Symbolise(function)[0];
  return name.empty() || name == "??" ? fmt::format("at {}", function) : name;
}

std::string CodeLocation(const void* return_address) {
  const void* call = static_cast<const char*>(return_address) - 1;  // the call, not what follows it
  std::string place = Symbolise(call)[1];
  place = place.substr(0, place.find(' '));  // binutils add discriminators
  if (place.empty() || place.starts_with("??")) return fmt::format("code at {}", return_address);
  return std::filesystem::path(place).filename().string();
}

}  // namespace inferflux::cuda::executor
