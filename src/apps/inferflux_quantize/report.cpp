#include "apps/inferflux_quantize/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>

namespace inferflux::apps {

using formats::QuantizedTensor;
using formats::TensorTypeName;

void PrintTensors(const std::vector<QuantizedTensor>& tensors) {
  for (const QuantizedTensor& tensor : tensors) {
    fmt::print("{:<40} [{}]  {} -> {}", tensor.source->name, fmt::join(tensor.source->shape(), ", "),
               TensorTypeName(tensor.source->type), TensorTypeName(tensor.type));
    if (tensor.type != tensor.source->type) fmt::print("  rmse {:.3e}", tensor.rmse);
    fmt::print("\n");
  }
}

void PrintSummary(const std::vector<QuantizedTensor>& tensors, double seconds) {
  constexpr double kMegabyte = 1e6;
  uint64_t before = 0;
  uint64_t after = 0;
  uint64_t weights = 0;
  std::map<std::string, int> by_type;
  for (const QuantizedTensor& tensor : tensors) {
    before += tensor.source->data.size();
    after += tensor.bytes;
    weights += tensor.source->elements();
    ++by_type[std::string(TensorTypeName(tensor.type))];
  }
  std::string types;
  for (const auto& [type, count] : by_type) types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, type);
  fmt::print("{:.1f} MB -> {:.1f} MB ({:.2f} bits a weight) in {:.1f} s; tensors: {}\n",
             static_cast<double>(before) / kMegabyte, static_cast<double>(after) / kMegabyte,
             8.0 * static_cast<double>(after) / static_cast<double>(std::max<uint64_t>(weights, 1)), seconds, types);
}

}  // namespace inferflux::apps
