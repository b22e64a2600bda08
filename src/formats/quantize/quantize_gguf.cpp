#include "formats/quantize/quantize_gguf.h"

#include "formats/gguf/gguf_writer.h"
#include "formats/quant/quantize.h"
#include "formats/quantize/tensor_stream.h"

namespace inferflux::formats {
namespace {

constexpr uint32_t kQuantizationVersion = 2;

Status DescribeOutput(const GgufFile& file, const QuantizeOptions& options, GgufWriter& writer,
                      std::vector<QuantizedTensor>& tensors) {
  for (const GgufEntry& entry : file.metadata().entries()) {
    if (!entry.key.starts_with("split.") && entry.key != "general.alignment") writer.Copy(entry);
  }
  writer.Set<uint32_t>("general.file_type", options.mix->file_type);
  writer.Set<uint32_t>("general.quantization_version", kQuantizationVersion);
  auto model = DescribeForMix(file);
  if (!model) return Forward(model);
  model->has_importance = options.importance != nullptr;
  for (const GgufTensor& tensor : file.tensors()) {
    const TensorType type = ChooseType(*options.mix, *model, tensor);
    auto bytes = TensorBytes(type, tensor.shape());
    if (!bytes) return Forward(bytes);
    if (auto added = writer.AddTensor(tensor.name, type, tensor.shape()); !added) return added;
    tensors.push_back({&tensor, type, *bytes, 0.0});
  }
  return writer.WriteHeader();
}

}  // namespace

Result<std::vector<QuantizedTensor>> QuantizeGguf(const GgufFile& file, std::ostream& out,
                                                  const QuantizeOptions& options, ThreadPool& pool,
                                                  QuantizeProgress progress) {
  GgufWriter writer(out);
  std::vector<QuantizedTensor> tensors;
  if (auto described = DescribeOutput(file, options, writer, tensors); !described) return Forward(described);
  uint64_t total = 0;
  for (const GgufTensor& tensor : file.tensors()) total += tensor.data.size();
  uint64_t done = 0;
  for (QuantizedTensor& target : tensors) {
    const GgufTensor& tensor = *target.source;
    std::span<const float> importance;
    if (options.importance != nullptr && target.type != tensor.type) {
      const auto found = options.importance->For(tensor);
      if (!found) return Forward(found);
      importance = *found;
    }
    const auto report = [&](uint64_t bytes) {
      if (options.release_input) ReleasePages(tensor.data.first(bytes));
      progress(done + bytes, total, tensor);
    };
    auto rmse = StreamTensor(tensor, target.type, importance, writer, pool, report);
    if (!rmse) return Forward(rmse);
    target.rmse = *rmse;
    done += tensor.data.size();
  }
  if (auto finished = writer.Finish(); !finished) return Forward(finished);
  return tensors;
}

}  // namespace inferflux::formats
