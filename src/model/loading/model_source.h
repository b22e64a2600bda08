// A model on disk: its metadata under GGUF's keys and its tensors under GGUF's names, for every file format.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/params.h"
#include "formats/gguf/gguf_metadata.h"

namespace inferflux::model {

class ModelSource {
 public:
  // Opens a GGUF file (the first part of a split model) or a Hugging Face directory. Maps the files, and reads tensors
  // on first access. Errors name the file.
  static Result<std::shared_ptr<const ModelSource>> Open(const std::string& path);

  // A tensor, or its type and shape with a function that makes its data at each request of a backend.
  struct Tensor {
    compute::HostMatrix matrix;
    std::function<Result<compute::HostMatrix>()> make;  // empty: the data are present
    // The file's own layout, if GGUF has no type for it, and a function that makes it.
    struct Layout {
      formats::WeightLayout stored;
      std::function<std::shared_ptr<const formats::WeightLayout>()> make;
    };
    std::optional<Layout> layout = {};
    int64_t file_bytes = 0;
  };

  // The result of a format's reader. `owner` keeps alive the memory that metadata and tensors point into. If a
  // checkpoint stores the experts of a tensor separately, each is a tensor named by ExpertName.
  ModelSource(std::string path, std::string format, formats::GgufMetadata metadata, std::vector<Tensor> tensors,
              std::shared_ptr<const void> owner);
  static std::string ExpertName(std::string_view tensor, int32_t expert);

  const std::string& path() const { return path_; }
  const std::string& format() const { return format_; }  // "gguf", "huggingface"
  const formats::GgufMetadata& metadata() const { return metadata_; }

  // Type and shape; null if the model has no such tensor. A vector is a matrix of one row.
  const compute::HostMatrix* Find(std::string_view name) const;

  // The source's own layout of the tensor, without its data; null if it has none.
  const formats::WeightLayout* LayoutOf(std::string_view name) const;

  // With its data, checked: kNotFound if it is missing, kDataLoss if its shape is not [rows, cols]; both name the
  // tensor. If the file stores it in one of `layouts`, the result has that layout and no data.
  Result<compute::HostMatrix> Matrix(std::string_view name, int64_t rows, int64_t cols,
                                     formats::WeightLayouts layouts = {}) const;

  // Slice `expert` of a tensor of [experts, rows, cols], with the same rules.
  Result<compute::HostMatrix> Expert(std::string_view name, int32_t expert, int32_t experts, int64_t rows, int64_t cols,
                                     formats::WeightLayouts layouts = {}) const;

  // Dequantised, with the same checks.
  Result<std::vector<float>> Values(std::string_view name, int64_t rows, int64_t cols) const;
  Result<std::vector<float>> Vector(std::string_view name, int64_t size) const { return Values(name, 1, size); }

  // A tensor with one value per expert, [1, experts], or with one value if each expert has its own tensor. kDataLoss if
  // a value is not finite.
  Result<std::vector<float>> OnePerExpert(std::string_view name, int32_t experts) const;
  bool HasWholeOrExperts(std::string_view name) const {
    return Find(name) != nullptr || Find(ExpertName(name, 0)) != nullptr;
  }

  // The tensors that are neither in `used` nor RoPE factors. An expert's tensor counts under the name of the stacked
  // tensor.
  std::vector<std::string> UnusedTensors(const std::set<std::string, std::less<>>& used) const;

  // Ordered by name.
  std::vector<const Tensor*> Tensors() const;
  int64_t parameters() const;
  // The bytes of all tensors; those in one of `layouts` keep their layout.
  int64_t WeightBytes(formats::WeightLayouts layouts = {}) const;
  // The number of weights requested so far, as the progress of a load. Any thread.
  int64_t taken_weights() const { return taken_weights_; }
  std::string commonest_type() const;  // of the matrices, by number of weights: "BF16", "Q4_K", "MLX 4-bit", ...

 private:
  Result<const Tensor*> Checked(std::string_view name, int64_t rows, int64_t cols) const;

  std::string path_;
  std::string format_;
  formats::GgufMetadata metadata_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::shared_ptr<const void> owner_;
  mutable std::atomic<int64_t> taken_weights_{0};
};

}  // namespace inferflux::model
