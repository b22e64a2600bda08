#include "hardware/cpu.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

#include "base/cpu_features.h"
#include "base/host_memory.h"
#include "base/usable_cores.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstring>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace inferflux::hardware {
namespace {

std::string Trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string CpuName() {
#if defined(__x86_64__)
  constexpr unsigned kFirst = 0x80000002, kLast = 0x80000004;  // leaves with 16 characters each
  if (__get_cpuid_max(0x80000000, nullptr) < kLast) return {};
  std::array<char, 49> text{};
  for (unsigned leaf = kFirst; leaf <= kLast; ++leaf) {
    std::array<unsigned, 4> words{};
    __get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]);
    std::memcpy(text.data() + 16 * (leaf - kFirst), words.data(), sizeof words);
  }
  return Trimmed(text.data());
#elif defined(__APPLE__)
  std::array<char, 128> text{};
  size_t size = text.size() - 1;
  return ::sysctlbyname("machdep.cpu.brand_string", text.data(), &size, nullptr, 0) == 0 ? Trimmed(text.data()) : "";
#else
  // Arm's Linux names boards, not processors.
  std::ifstream file("/proc/device-tree/model");
  std::string text;
  std::getline(file, text, '\0');
  return Trimmed(text);
#endif
}

std::vector<std::string_view> InstructionSets() {
  const CpuFeatures& features = DetectCpuFeatures();
  std::vector<std::string_view> out;
  for (const CpuIsa isa : {CpuIsa::kAvx2, CpuIsa::kAvxVnni, CpuIsa::kAvx512Vnni, CpuIsa::kAmx, CpuIsa::kNeon}) {
    if (Runs(features, isa)) out.push_back(CpuIsaName(isa));
  }
  if (features.avx512_bf16) out.push_back("avx512-bf16");
  return out;
}

std::optional<int64_t> Known(int64_t bytes) {
  if (bytes == std::numeric_limits<int64_t>::max()) return std::nullopt;
  return bytes;
}

}  // namespace

Cpu ReadCpu() {
  const HostMemory memory = ReadHostMemory();
  const int usable = UsableCores();
  return {.name = CpuName(),
          .instruction_sets = InstructionSets(),
          .usable_cores = usable,
          .cores = std::max(usable, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))),
          .total_bytes = Known(memory.total),
          .free_bytes = Known(memory.free)};
}

}  // namespace inferflux::hardware
