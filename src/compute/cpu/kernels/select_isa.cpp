#include "compute/cpu/kernels/select_isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace inferflux::compute::cpu {
namespace {

constexpr std::array kBestFirst = {CpuIsa::kAmx,  CpuIsa::kAvx512Vnni, CpuIsa::kAvxVnni,
                                   CpuIsa::kAvx2, CpuIsa::kNeon,       CpuIsa::kScalar};

#if defined(__x86_64__)
constexpr std::array kOfArchitecture = {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvxVnni, CpuIsa::kAvx512Vnni,
                                        CpuIsa::kAmx};
#elif defined(__aarch64__)
constexpr std::array kOfArchitecture = {CpuIsa::kScalar, CpuIsa::kNeon};
#else
constexpr std::array kOfArchitecture = {CpuIsa::kScalar};
#endif

bool Contains(std::span<const CpuIsa> isas, CpuIsa isa) { return std::ranges::find(isas, isa) != isas.end(); }

std::string Names(std::span<const CpuIsa> isas) {
  std::vector<std::string_view> out;
  for (const CpuIsa isa : isas) out.push_back(CpuIsaName(isa));
  return fmt::format("{}", fmt::join(out, ", "));
}

Result<CpuIsa> Forced(std::string_view name) {
  const auto* isa = std::ranges::find(kBestFirst, name, CpuIsaName);
  if (isa == kBestFirst.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                "INFERFLUX_CPU_ISA={}: unknown; use scalar, avx2, avx-vnni, avx512-vnni, amx or neon", name);
  }
  if (!Runs(DetectCpuFeatures(), *isa)) {
    return Fail(ErrorCode::kUnsupported, "INFERFLUX_CPU_ISA={}: this machine cannot run it", name);
  }
  if (!Contains(BuiltIsas(), *isa)) {
    return Fail(ErrorCode::kUnsupported,
                "INFERFLUX_CPU_ISA={}: this build has only {}; configure with -DINFERFLUX_CPU=all for every set", name,
                Names(BuiltIsas()));
  }
  return *isa;
}

}  // namespace

Result<CpuIsa> SelectCpuIsa() {
  if (const char* forced = std::getenv("INFERFLUX_CPU_ISA"); forced != nullptr && *forced != '\0') {
    return Forced(forced);
  }
  for (const CpuIsa isa : kBestFirst) {
    if (Runs(DetectCpuFeatures(), isa) && Contains(BuiltIsas(), isa)) return isa;
  }
  return CpuIsa::kScalar;
}

BuildNote DescribeBuild(std::span<const CpuIsa> built, const CpuFeatures& features) {
  if (std::ranges::all_of(kOfArchitecture, [&](CpuIsa isa) { return Contains(built, isa); })) return {};
  const CpuIsa best = *std::ranges::find_if(kBestFirst, [&](CpuIsa isa) { return Runs(features, isa); });
  if (Contains(built, best)) {
    return {fmt::format("built for this machine's instruction sets alone: {}", Names(built))};
  }
  return {fmt::format("built for another machine's instruction sets: {}; this one runs {}, which is faster: build with "
                      "-DINFERFLUX_CPU=native here, or with -DINFERFLUX_CPU=all",
                      Names(built), CpuIsaName(best)),
          true};
}

BuildNote DescribeBuild() { return DescribeBuild(BuiltIsas(), DetectCpuFeatures()); }

}  // namespace inferflux::compute::cpu
