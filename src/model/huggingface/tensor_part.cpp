#include <algorithm>
#include <cstring>

#include "model/huggingface/tensor_plan.h"

namespace inferflux::model {
namespace {

using formats::SafetensorsTensor;

constexpr size_t kAlignment = 8;  // what decoders of GGUF's types need

// Row 2i + j of a head is its row j * half + i. A vector is a column: one value a row.
void Interleave(const TensorPart& part, uint32_t heads, size_t row_bytes, size_t rows, std::byte* out) {
  const size_t head_rows = rows / heads, half = head_rows / 2;
  for (size_t h = 0; h < heads; ++h) {
    for (size_t r = 0; r < head_rows; ++r) {
      const size_t from = h * head_rows + (r % 2) * half + r / 2;
      std::memcpy(out + (h * head_rows + r) * row_bytes, part.data.data() + from * row_bytes, row_bytes);
    }
  }
}

void Transpose(const TensorPart& part, size_t bytes, std::byte* out) {
  for (int64_t r = 0; r < part.rows; ++r) {
    for (int64_t c = 0; c < part.cols; ++c) {
      std::memcpy(out + static_cast<size_t>(c * part.rows + r) * bytes,
                  part.data.data() + static_cast<size_t>(r * part.cols + c) * bytes, bytes);
    }
  }
}

Status Change(const TensorRecipe& recipe, const SafetensorsTensor& tensor, TensorPart* part) {
  const size_t bytes = Traits(tensor.dtype).bytes;
  part->owned.resize(part->data.size());
  if (recipe.change == TensorChange::kNone) {
    std::copy(part->data.begin(), part->data.end(), part->owned.begin());
  } else if (recipe.change == TensorChange::kTranspose) {
    Transpose(*part, bytes, part->owned.data());
    std::swap(part->rows, part->cols);
  } else if (recipe.change == TensorChange::kAddOne) {
    std::vector<float> values(tensor.elements());
    formats::ToFloats(tensor.dtype, tensor.data.data(), values.data(), static_cast<int64_t>(values.size()));
    for (float& value : values) value += 1.0f;
    part->owned.resize(values.size() * sizeof(float));
    std::memcpy(part->owned.data(), values.data(), part->owned.size());
    part->type = formats::TensorType::kF32;
  } else {
    const size_t rows = tensor.shape[0], row_bytes = part->data.size() / rows;
    if (recipe.heads == 0 || rows % (2 * size_t{recipe.heads}) != 0) {
      return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} rows, which {} heads cannot share in pairs", tensor.name,
                  rows, recipe.heads);
    }
    Interleave(*part, recipe.heads, row_bytes, rows, part->owned.data());
  }
  part->data = part->owned;
  return {};
}

}  // namespace

Result<TensorPart> ReadTensorPart(const TensorRecipe& recipe, size_t part) {
  TensorPart out;
  if (recipe.parts.empty()) {
    out.rows = 1;
    out.cols = static_cast<int64_t>(recipe.computed.size());
    out.data = std::as_bytes(std::span(recipe.computed));
    return out;
  }
  const SafetensorsTensor& tensor = *recipe.parts[part];
  const auto& dtype = Traits(tensor.dtype);
  if (!dtype.type) {
    return Fail(ErrorCode::kUnsupported, "tensor '{}' holds {}, which no GGUF file can", tensor.name, dtype.name);
  }
  if (tensor.shape.empty() || tensor.elements() == 0) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' is empty or a scalar", tensor.name);
  }
  out.type = *dtype.type;
  out.cols = static_cast<int64_t>(tensor.shape.back());
  out.rows = static_cast<int64_t>(tensor.elements()) / out.cols;
  out.data = tensor.data;
  const bool aligned = reinterpret_cast<uintptr_t>(tensor.data.data()) % kAlignment == 0;
  if (recipe.change == TensorChange::kNone && aligned) return out;
  if (auto changed = Change(recipe, tensor, &out); !changed) return Forward(changed);
  return out;
}

}  // namespace inferflux::model
