#include "formats/quantized_checkpoints/fused_experts.h"

#include <algorithm>
#include <cstring>

#include "formats/quant/blocks.h"
#include "formats/quantized_checkpoints/tensor_checks.h"

namespace inferflux::formats {
namespace {

constexpr uint64_t kBlockBytes = 16;

Status CheckTurns(const SafetensorsTensor& tensor, RowsInTurn rows) {
  if (tensor.shape[1] % rows.step == 0) return {};
  return Fail(ErrorCode::kDataLoss,
              "tensor '{}' has {} rows for each expert, which are not alternating rows of {} projections", tensor.name,
              tensor.shape[1], rows.step);
}

}  // namespace

Result<Mxfp4Expert> Mxfp4Expert::Open(const SafetensorsTensor& blocks, const SafetensorsTensor& scales, uint64_t expert,
                                      RowsInTurn rows) {
  if (auto checked = CheckKind(blocks, {SafetensorsDtype::kU8}, 4); !checked) return Forward(checked);
  if (auto checked = CheckKind(scales, {SafetensorsDtype::kU8}, 3); !checked) return Forward(checked);
  const auto& shape = blocks.shape;
  if (auto checked = CheckShape(scales, {shape[0], shape[1], shape[2]}, blocks); !checked) return Forward(checked);
  if (shape[3] != kBlockBytes || expert >= shape[0] || shape[2] > static_cast<uint64_t>(kMaxTensorDimension) / 32) {
    return Fail(ErrorCode::kDataLoss,
                "tensor '{}' is [{}, {}, {}, {}]; blocks of 16 bytes, for expert {} too, are read", blocks.name,
                shape[0], shape[1], shape[2], shape[3], expert);
  }
  if (auto checked = CheckTurns(blocks, rows); !checked) return Forward(checked);
  Mxfp4Expert out;
  out.row_blocks_ = shape[2];
  out.rows_ = shape[1] / rows.step;
  out.turn_ = rows;
  out.blocks_ = blocks.data.data() + expert * shape[1] * shape[2] * kBlockBytes;
  out.scales_ = scales.data.data() + expert * shape[1] * shape[2];
  return out;
}

Result<Mxfp4Expert> Mxfp4Expert::OpenWords(const SafetensorsTensor& words, const SafetensorsTensor& scales,
                                           uint64_t expert) {
  constexpr uint64_t kBlockWords = kBlockBytes / 4;
  if (auto checked = CheckKind(words, {SafetensorsDtype::kU32}, 3); !checked) return Forward(checked);
  if (words.shape[2] % kBlockWords != 0) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' has rows of {} words, which are not whole blocks of {}", words.name,
                words.shape[2], kBlockWords);
  }
  const SafetensorsTensor blocks{.name = words.name,
                                 .dtype = SafetensorsDtype::kU8,
                                 .shape = {words.shape[0], words.shape[1], words.shape[2] / kBlockWords, kBlockBytes},
                                 .data = words.data};
  return Open(blocks, scales, expert, {});
}

Result<Mxfp4Expert> Mxfp4Expert::OpenMatrix(const SafetensorsTensor& bytes, const SafetensorsTensor& scales) {
  for (const SafetensorsTensor* tensor : {&bytes, &scales}) {
    if (auto checked = CheckKind(*tensor, {SafetensorsDtype::kU8}, 2); !checked) return Forward(checked);
  }
  const uint64_t rows = bytes.shape[0], row_blocks = bytes.shape[1] / kBlockBytes;
  if (bytes.shape[1] % kBlockBytes != 0) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' has rows of {} bytes, which are not whole blocks of {}", bytes.name,
                bytes.shape[1], kBlockBytes);
  }
  if (auto checked = CheckShape(scales, {rows, row_blocks}, bytes); !checked) return Forward(checked);
  SafetensorsTensor blocks = bytes, exponents = scales;  // a stack of one
  blocks.shape = {1, rows, row_blocks, kBlockBytes};
  exponents.shape = {1, rows, row_blocks};
  return Open(blocks, exponents, 0, {});
}

std::vector<std::byte> Mxfp4Expert::Read() const {
  std::vector<std::byte> out(rows_ * row_blocks_ * sizeof(BlockMxfp4));
  auto* to = reinterpret_cast<BlockMxfp4*>(out.data());
  for (uint64_t r = 0; r < rows_; ++r) {
    for (uint64_t b = 0; b < row_blocks_; ++b, ++to) {
      const uint64_t from = (turn_.first + r * turn_.step) * row_blocks_ + b;
      to->e = static_cast<uint8_t>(scales_[from]);
      const std::byte* pairs = blocks_ + from * kBlockBytes;
      for (uint64_t i = 0; i < kBlockBytes; ++i) {  // input i below input i + 16
        const auto low = static_cast<uint8_t>(pairs[i / 2]) >> (i % 2 * 4) & 15;
        const auto high = static_cast<uint8_t>(pairs[8 + i / 2]) >> (i % 2 * 4) & 15;
        to->qs[i] = static_cast<uint8_t>(low | high << 4);
      }
    }
  }
  return out;
}

Result<ExpertBiases> ExpertBiases::Open(const SafetensorsTensor& biases, RowsInTurn outputs) {
  using Dtype = SafetensorsDtype;
  if (auto checked = CheckKind(biases, {Dtype::kF16, Dtype::kBf16, Dtype::kF32}, 2); !checked) return Forward(checked);
  if (auto checked = CheckTurns(biases, outputs); !checked) return Forward(checked);
  ExpertBiases out;
  out.biases_ = &biases;
  out.turn_ = outputs;
  return out;
}

std::vector<std::byte> ExpertBiases::Read() const {
  const uint64_t bytes = Traits(biases_->dtype).bytes, values = biases_->elements() / turn_.step;
  std::vector<std::byte> out(values * bytes);
  for (uint64_t i = 0; i < values; ++i) {  // the alternation continues across rows of the tensor
    std::memcpy(out.data() + i * bytes, biases_->data.data() + (turn_.first + i * turn_.step) * bytes, bytes);
  }
  return out;
}

}  // namespace inferflux::formats
