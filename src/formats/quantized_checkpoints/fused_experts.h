// Experts whose gate and up projections are one tensor with alternating rows, as in gpt-oss (arXiv:2508.10925): the
// rows of one projection of one expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

// The rows: `first`, `first` + `step`, ...
struct RowsInTurn {
  uint64_t first = 0;
  uint64_t step = 1;
};

// MXFP4 (OCP microscaling formats, 2023): blocks [experts, rows, inputs / 32, 16], whose bytes hold two neighbouring
// inputs, the first in the low half; and scales [experts, rows, inputs / 32], exponents of two. GGUF's MXFP4 holds the
// same numbers in another order.
class Mxfp4Expert {
 public:
  // kDataLoss names both tensors if their shapes do not match, or if the rows do not alternate.
  static Result<Mxfp4Expert> Open(const SafetensorsTensor& blocks, const SafetensorsTensor& scales, uint64_t expert,
                                  RowsInTurn rows);
  // The same bytes in MLX's layout: words [experts, rows, inputs / 8] of U32.
  static Result<Mxfp4Expert> OpenWords(const SafetensorsTensor& words, const SafetensorsTensor& scales,
                                       uint64_t expert);
  // A single matrix, as in compressed-tensors' "mxfp4-pack-quantized": bytes [rows, inputs / 2] and scales [rows,
  // inputs / 32] of U8.
  static Result<Mxfp4Expert> OpenMatrix(const SafetensorsTensor& bytes, const SafetensorsTensor& scales);

  int64_t outputs() const { return static_cast<int64_t>(rows_); }
  int64_t inputs() const { return static_cast<int64_t>(row_blocks_ * 32); }
  TensorType type() const { return TensorType::kMxfp4; }
  std::vector<std::byte> Read() const;  // [outputs, inputs] in type()

 private:
  Mxfp4Expert() = default;

  const std::byte* blocks_ = nullptr;  // of the expert
  const std::byte* scales_ = nullptr;
  uint64_t rows_ = 0, row_blocks_ = 0;
  RowsInTurn turn_;
};

// The biases of all experts, [experts, outputs of one projection].
class ExpertBiases {
 public:
  // `biases`: [experts, all outputs], of an element type that GGUF has.
  static Result<ExpertBiases> Open(const SafetensorsTensor& biases, RowsInTurn outputs);

  int64_t outputs() const { return static_cast<int64_t>(biases_->shape[0]); }  // rows, as of any matrix
  int64_t inputs() const { return static_cast<int64_t>(biases_->shape[1] / turn_.step); }
  TensorType type() const { return *Traits(biases_->dtype).type; }
  std::vector<std::byte> Read() const;

 private:
  ExpertBiases() = default;

  const SafetensorsTensor* biases_ = nullptr;
  RowsInTurn turn_;
};

}  // namespace inferflux::formats
