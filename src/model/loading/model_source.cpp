#include "model/loading/model_source.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "formats/gguf/gguf_file.h"
#include "formats/quant/dequantize.h"
#include "model/huggingface/hf_source.h"

namespace inferflux::model {

namespace {

Result<std::shared_ptr<const ModelSource>> OpenGguf(const std::string& path) {
  auto file = formats::GgufFile::Open(path);
  if (!file) return Forward(file);
  std::vector<ModelSource::Tensor> tensors;
  for (const formats::GgufTensor& tensor : (*file)->tensors()) {
    tensors.push_back({{.name = std::string(tensor.name),
                        .type = tensor.type,
                        .rows = static_cast<int64_t>(tensor.rows()),
                        .cols = static_cast<int64_t>(tensor.dims[0]),
                        .data = tensor.data,
                        .owner = nullptr},
                       nullptr,
                       {},
                       static_cast<int64_t>(tensor.data.size())});
  }
  return std::make_shared<const ModelSource>(path, "gguf", (*file)->metadata(), std::move(tensors), *file);
}

}  // namespace

Result<std::shared_ptr<const ModelSource>> ModelSource::Open(const std::string& path) {
  std::error_code ignored;  // if the status cannot be read, opening the path reports why
  if (std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found) {
    return Fail(ErrorCode::kNotFound,
                "there is no model file or directory '{}'; InferFlux does not download models: give the path of a GGUF "
                "file or of a Hugging Face directory that is here",
                path);
  }
  return std::filesystem::is_directory(path, ignored) ? OpenHuggingFace(path) : OpenGguf(path);
}

ModelSource::ModelSource(std::string path, std::string format, formats::GgufMetadata metadata,
                         std::vector<Tensor> tensors, std::shared_ptr<const void> owner)
    : path_(std::move(path)), format_(std::move(format)), metadata_(std::move(metadata)), owner_(std::move(owner)) {
  for (Tensor& tensor : tensors) {
    std::string name = tensor.matrix.name;
    tensors_.emplace(std::move(name), std::move(tensor));
  }
}

std::string ModelSource::ExpertName(std::string_view tensor, int32_t expert) {
  return fmt::format("{}[{}]", tensor, expert);
}

const compute::HostMatrix* ModelSource::Find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second.matrix;
}

const formats::WeightLayout* ModelSource::LayoutOf(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it != tensors_.end() && it->second.layout ? &it->second.layout->stored : nullptr;
}

Result<const ModelSource::Tensor*> ModelSource::Checked(std::string_view name, int64_t rows, int64_t cols) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) return Fail(ErrorCode::kNotFound, "{}: tensor '{}' is missing", path_, name);
  const compute::HostMatrix& found = it->second.matrix;
  if (found.rows != rows || found.cols != cols) {
    return Fail(ErrorCode::kDataLoss, "{}: tensor '{}' is [{}, {}], but the metadata makes it [{}, {}]", path_, name,
                found.rows, found.cols, rows, cols);
  }
  taken_weights_ += rows * cols;
  return &it->second;
}

Result<compute::HostMatrix> ModelSource::Matrix(std::string_view name, int64_t rows, int64_t cols,
                                                formats::WeightLayouts layouts) const {
  const auto found = Checked(name, rows, cols);
  if (!found) return Forward(found);
  const Tensor& tensor = **found;
  if (tensor.layout && layouts.Contains(tensor.layout->stored)) {
    compute::HostMatrix out = tensor.matrix;
    out.layout = tensor.layout->make();
    return out;
  }
  if (tensor.make == nullptr) return tensor.matrix;
  auto made = tensor.make();
  if (!made) return Forward(made, path_);
  return made;
}

Result<compute::HostMatrix> ModelSource::Expert(std::string_view name, int32_t expert, int32_t experts, int64_t rows,
                                                int64_t cols, formats::WeightLayouts layouts) const {
  const std::string apart = ExpertName(name, expert);
  if (Find(apart) != nullptr) return Matrix(apart, rows, cols, layouts);
  auto all = Matrix(name, experts * rows, cols);
  if (!all) return all;
  const size_t bytes = all->data.size() / static_cast<size_t>(experts);
  all->data = all->data.subspan(static_cast<size_t>(expert) * bytes, bytes);
  all->rows = rows;
  taken_weights_ -= (experts - 1) * rows * all->cols;  // the other experts are requested separately
  return all;
}

Result<std::vector<float>> ModelSource::Values(std::string_view name, int64_t rows, int64_t cols) const {
  auto matrix = Matrix(name, rows, cols);
  if (!matrix) return Forward(matrix);
  if (!formats::CanDequantize(matrix->type)) {
    return Fail(ErrorCode::kUnsupported, "{}: tensor '{}' is {}, which has no decoder", path_, name,
                formats::TensorTypeName(matrix->type));
  }
  std::vector<float> out(static_cast<size_t>(rows * cols));
  const size_t bytes = matrix->data.size() / static_cast<size_t>(rows);
  for (int64_t r = 0; r < rows; ++r) {
    formats::DequantizeRow(matrix->type, matrix->data.data() + static_cast<size_t>(r) * bytes, out.data() + r * cols,
                           cols);
  }
  return out;
}

Result<std::vector<float>> ModelSource::OnePerExpert(std::string_view name, int32_t experts) const {
  std::vector<float> out;
  if (Find(name) != nullptr) {
    auto values = Vector(name, experts);
    if (!values) return values;
    out = std::move(*values);
  } else {
    for (int32_t e = 0; e < experts; ++e) {
      const auto value = Vector(ExpertName(name, e), 1);
      if (!value) return value;
      out.push_back(value->front());
    }
  }
  if (std::all_of(out.begin(), out.end(), [](float value) { return std::isfinite(value); })) return out;
  return Fail(ErrorCode::kDataLoss, "{}: tensor '{}' has a value that is no finite number", path_, name);
}

std::vector<std::string> ModelSource::UnusedTensors(const std::set<std::string, std::less<>>& used) const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) {
    const std::string_view whole = std::string_view(name).substr(0, name.find('['));
    if (!used.contains(whole) && !whole.starts_with("rope_f") && !whole.ends_with("rope_freqs.weight")) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<const ModelSource::Tensor*> ModelSource::Tensors() const {
  std::vector<const Tensor*> out;
  for (const auto& [name, tensor] : tensors_) out.push_back(&tensor);
  return out;
}

int64_t ModelSource::parameters() const {
  int64_t total = 0;
  for (const auto& [name, tensor] : tensors_) total += tensor.matrix.rows * tensor.matrix.cols;
  return total;
}

int64_t ModelSource::WeightBytes(formats::WeightLayouts layouts) const {
  int64_t total = 0;
  for (const auto& [name, tensor] : tensors_) {
    const compute::HostMatrix& matrix = tensor.matrix;
    formats::WeightLayouts own = layouts;
    own.ordered = layouts.ordered && !name.ends_with(']');  // experts do not support act-order
    if (tensor.layout && own.Contains(tensor.layout->stored)) {
      total += StoredBytes(tensor.layout->stored, matrix.rows, matrix.cols);
      continue;
    }
    const auto row = formats::RowBytes(matrix.type, static_cast<uint64_t>(matrix.cols));
    total += row ? static_cast<int64_t>(*row) * matrix.rows : 0;
  }
  return total;
}

std::string ModelSource::commonest_type() const {
  std::map<std::string, int64_t> weights;
  for (const auto& [name, tensor] : tensors_) {
    const compute::HostMatrix& matrix = tensor.matrix;
    if (matrix.rows < 2) continue;
    const std::string type =
        tensor.layout ? WeightLayoutName(tensor.layout->stored) : std::string(formats::TensorTypeName(matrix.type));
    weights[type] += matrix.rows * matrix.cols;
  }
  if (weights.empty()) return "none";
  const auto most = std::max_element(weights.begin(), weights.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first;
}

}  // namespace inferflux::model
