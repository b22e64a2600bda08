// A model on disk: its metadata under GGUF's keys and its tensors under GGUF's names, whatever format holds them.
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
  // A GGUF file (the first one of a split model), or a Hugging Face directory. Maps files; tensors are read as they are
  // touched. Errors name the file.
  static Result<std::shared_ptr<const ModelSource>> Open(const std::string& path);

  // A tensor, or its type and shape with a way to make its data whenever a backend asks for them.
  struct Tensor {
    compute::HostMatrix matrix;
    std::function<Result<compute::HostMatrix>()> make;  // empty: the data are there
    // As the file holds it, where GGUF has no type for that: of which form it is, and a way to make it.
    struct Form {
      formats::WeightLayout stored;
      std::function<std::shared_ptr<const formats::WeightLayout>()> make;
    };
    std::optional<Form> form = {};
    int64_t file_bytes = 0;
  };

  // What a reader of some format found. `owner` keeps alive what metadata and tensors look into. Where a checkpoint
  // holds the experts of a tensor apart, each is a tensor named by ExpertName.
  ModelSource(std::string path, std::string format, formats::GgufMetadata metadata, std::vector<Tensor> tensors,
              std::shared_ptr<const void> owner);
  static std::string ExpertName(std::string_view tensor, int32_t expert);

  const std::string& path() const { return path_; }
  const std::string& format() const { return format_; }  // "gguf", "huggingface"
  const formats::GgufMetadata& metadata() const { return metadata_; }

  // Type and shape; null where the model has no such tensor. A vector is a matrix of one row.
  const compute::HostMatrix* Find(std::string_view name) const;

  // The form of its own that the source has it in, without its numbers; null where it has none.
  const formats::WeightLayout* FormOf(std::string_view name) const;

  // With its data, checked: kNotFound where it is missing, kDataLoss where its shape is not [rows, cols]; both name the
  // tensor. Where the file holds it in one of `forms`, it comes in that and without data.
  Result<compute::HostMatrix> Matrix(std::string_view name, int64_t rows, int64_t cols,
                                     formats::WeightLayouts forms = {}) const;

  // Slice `expert` of a tensor of [experts, rows, cols], in the same way.
  Result<compute::HostMatrix> Expert(std::string_view name, int32_t expert, int32_t experts, int64_t rows, int64_t cols,
                                     formats::WeightLayouts forms = {}) const;

  // Dequantised, and checked in the same way.
  Result<std::vector<float>> Values(std::string_view name, int64_t rows, int64_t cols) const;
  Result<std::vector<float>> Vector(std::string_view name, int64_t size) const { return Values(name, 1, size); }

  // A tensor of one value an expert, [1, experts], or of one value where each expert has a tensor of its own. kDataLoss
  // where a value is not finite.
  Result<std::vector<float>> OnePerExpert(std::string_view name, int32_t experts) const;
  bool HasWholeOrExperts(std::string_view name) const {
    return Find(name) != nullptr || Find(ExpertName(name, 0)) != nullptr;
  }

  // Tensors that are not among `used`, nor among those by which positions are rotated; an expert's goes by its whole's
  // name.
  std::vector<std::string> UnusedTensors(const std::set<std::string, std::less<>>& used) const;

  // In the order of their names.
  std::vector<const Tensor*> Tensors() const;
  int64_t parameters() const;
  // Of all tensors, where those of `forms` stay as they are.
  int64_t WeightBytes(formats::WeightLayouts forms = {}) const;
  // Weights that were asked for so far: how far a load has come. Any thread.
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
