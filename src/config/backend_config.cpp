#include "config/backend_config.h"

#include <fmt/format.h>

#include <type_traits>

#include "config/schema.h"

namespace inferflux::config {
namespace {

template <class Member>
using ValueOf =
    typename std::remove_reference_t<decltype(std::declval<BackendConfig>().*std::declval<Member>())>::value_type;

consteval size_t KeyNamed(std::string_view name) {
  size_t row = 0;
  while (row < kKeyCount && kSchema[row].name != name) ++row;
  if (row == kKeyCount) throw "no such key in the schema";
  return row;
}

constexpr BackendField kFields[] = {
    {"device", KeyNamed("runtime.device"), &BackendConfig::device},
    {"kv_dtype", KeyNamed("runtime.kv_dtype"), &BackendConfig::kv_dtype},
    {"kv_budget", KeyNamed("runtime.kv_budget"), &BackendConfig::kv_budget},
    {"repack", KeyNamed("runtime.repack"), &BackendConfig::repack},
    {"mlx_requantise", KeyNamed("runtime.mlx_requantise"), &BackendConfig::mlx_requantise},
    {"cuda_graphs", KeyNamed("runtime.cuda_graphs"), &BackendConfig::cuda_graphs},
    {"cuda_streams", KeyNamed("runtime.cuda_streams"), &BackendConfig::cuda_streams},
    {"rope_context", KeyNamed("runtime.rope_context"), &BackendConfig::rope_context},
    {"tensor_parallel", KeyNamed("runtime.tensor_parallel"), &BackendConfig::tensor_parallel},
    {"pipeline_parallel", KeyNamed("runtime.pipeline_parallel"), &BackendConfig::pipeline_parallel},
    {"collectives", KeyNamed("runtime.collectives"), &BackendConfig::collectives},
    {"gpu_layers", KeyNamed("runtime.llama_cpp.gpu_layers"), &BackendConfig::gpu_layers},
    {"batch", KeyNamed("runtime.llama_cpp.batch"), &BackendConfig::batch},
    {"micro_batch", KeyNamed("runtime.llama_cpp.micro_batch"), &BackendConfig::micro_batch},
    {"flash_attention", KeyNamed("runtime.llama_cpp.flash_attention"), &BackendConfig::flash_attention},
};

}  // namespace

void BackendField::Set(BackendConfig& config, const std::string& text, int64_t number) const {
  std::visit(
      [&]<class Member>(Member member) {
        if constexpr (std::is_same_v<ValueOf<Member>, std::string>) {
          config.*member = text;
        } else {
          config.*member = static_cast<ValueOf<Member>>(number);
        }
      },
      member);
}

bool BackendField::IsSet(const BackendConfig& config) const {
  return std::visit([&](auto member) { return (config.*member).has_value(); }, member);
}

std::span<const BackendField> BackendFields() { return kFields; }

BackendConfig MergeBackendConfig(BackendConfig own, const BackendConfig& shared) {
  for (const BackendField& field : kFields) {
    std::visit(
        [&](auto member) {
          if (!(own.*member)) own.*member = shared.*member;
        },
        field.member);
  }
  return own;
}

std::string Describe(const BackendConfig& config) {
  std::string out;
  for (const BackendField& field : kFields) {
    std::visit(
        [&](auto member) {
          if (config.*member) out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", field.name, *(config.*member));
        },
        field.member);
  }
  return out;
}

}  // namespace inferflux::config
