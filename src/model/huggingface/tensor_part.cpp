#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/quant/dequantize.h"
#include "model/huggingface/tensor_plan.h"

namespace inferflux::model {
namespace {

constexpr size_t kAlignment = 8;  // required by the decoders of GGUF's types

bool IsAligned(std::span<const std::byte> data) { return reinterpret_cast<uintptr_t>(data.data()) % kAlignment == 0; }

// Row 2i + j of a head comes from its row j * half + i. A vector is a column: one value per row.
std::vector<std::byte> Interleave(std::span<const std::byte> data, uint32_t heads, size_t rows) {
  std::vector<std::byte> out(data.size());
  const size_t row_bytes = data.size() / rows, head_rows = rows / heads, half = head_rows / 2;
  for (size_t h = 0; h < heads; ++h) {
    for (size_t r = 0; r < head_rows; ++r) {
      const size_t from = h * head_rows + (r % 2) * half + r / 2;
      std::memcpy(out.data() + (h * head_rows + r) * row_bytes, data.data() + from * row_bytes, row_bytes);
    }
  }
  return out;
}

// From [group][queries of the group, its key, its value] to all queries, all keys, all values.
std::vector<std::byte> Ungroup(std::span<const std::byte> data, uint32_t heads, uint32_t groups, size_t rows) {
  std::vector<std::byte> out(data.size());
  const size_t head_bytes = data.size() / rows * (rows / (heads + 2 * size_t{groups})), queries = heads / groups;
  for (size_t g = 0; g < groups; ++g) {
    const std::byte* from = data.data() + g * (queries + 2) * head_bytes;
    std::memcpy(out.data() + g * queries * head_bytes, from, queries * head_bytes);
    std::memcpy(out.data() + (heads + g) * head_bytes, from + queries * head_bytes, head_bytes);
    std::memcpy(out.data() + (heads + groups + g) * head_bytes, from + (queries + 1) * head_bytes, head_bytes);
  }
  return out;
}

formats::AffineLayout InterleavedLayout(formats::AffineLayout layout, uint32_t heads, size_t rows) {
  struct Arrays {
    std::vector<std::byte> words, scales, biases;
  };
  const auto arrays = std::make_shared<const Arrays>(Arrays{Interleave(layout.words, heads, rows),
                                                            Interleave(layout.scales, heads, rows),
                                                            Interleave(layout.biases, heads, rows)});
  layout.words = arrays->words;
  layout.scales = arrays->scales;
  layout.biases = arrays->biases;
  layout.owner = arrays;
  return layout;
}

// Rows of one block may be separated, so each row gets its own scales.
formats::Fp8Layout InterleavedLayout(formats::Fp8Layout layout, uint32_t heads, size_t rows) {
  const size_t columns = layout.scales.size() / ((rows + static_cast<size_t>(layout.block_outputs) - 1) /
                                                 static_cast<size_t>(layout.block_outputs));
  std::vector<float> of_rows;
  for (size_t row = 0; row < rows; ++row) {
    const auto block = layout.scales.subspan(row / static_cast<size_t>(layout.block_outputs) * columns, columns);
    of_rows.insert(of_rows.end(), block.begin(), block.end());
  }
  struct Arrays {
    std::vector<std::byte> values;
    std::vector<float> scales;
  };
  const auto scale_bytes = Interleave(std::as_bytes(std::span(of_rows)), heads, rows);
  std::memcpy(of_rows.data(), scale_bytes.data(), scale_bytes.size());
  const auto arrays =
      std::make_shared<const Arrays>(Arrays{Interleave(layout.values, heads, rows), std::move(of_rows)});
  return {.block_outputs = 1,
          .block_inputs = layout.block_inputs,
          .values = arrays->values,
          .scales = arrays->scales,
          .owner = arrays};
}

formats::ActOrderLayout InterleavedLayout(formats::ActOrderLayout layout, uint32_t heads, size_t rows) {
  const auto data = std::make_shared<const std::vector<std::byte>>(Interleave(layout.data, heads, rows));
  layout.data = *data;
  layout.owner = data;
  return layout;
}

std::vector<std::byte> Transpose(std::span<const std::byte> data, int64_t rows, int64_t cols) {
  std::vector<std::byte> out(data.size());
  const size_t bytes = data.size() / static_cast<size_t>(rows * cols);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      std::memcpy(out.data() + static_cast<size_t>(c * rows + r) * bytes,
                  data.data() + static_cast<size_t>(r * cols + c) * bytes, bytes);
    }
  }
  return out;
}

template <class F>
std::vector<std::byte> Mapped(const std::vector<std::byte>& data, formats::TensorType type, int64_t count, F f) {
  std::vector<float> values(static_cast<size_t>(count));
  formats::DequantizeRow(type, data.data(), values.data(), count);
  for (float& value : values) value = f(value);
  std::vector<std::byte> out(values.size() * sizeof(float));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

}  // namespace

Result<TensorPart> DescribeTensorPart(const TensorRecipe& recipe, size_t part) {
  TensorPart out;
  if (recipe.parts.empty()) {
    out.rows = 1;
    out.cols = static_cast<int64_t>(recipe.computed.size());
    out.data = std::as_bytes(std::span(recipe.computed));
    return out;
  }
  const StoredWeight& weight = *recipe.parts[part];
  int64_t elements = 1;
  for (const uint64_t dim : weight.shape()) elements *= static_cast<int64_t>(dim);
  if (weight.shape().empty() || elements == 0) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' is empty or a scalar", weight.name());
  }
  out.type = weight.type();
  out.cols = static_cast<int64_t>(weight.shape().back());
  out.rows = elements / out.cols;
  const bool plain = Traits(out.type).block_elements == 1;
  switch (recipe.change) {
    case TensorChange::kNone:
      if (IsAligned(weight.mapped())) out.data = weight.mapped();
      break;
    case TensorChange::kInterleaveRows:
      if (recipe.heads == 0 || weight.shape()[0] % (2 * uint64_t{recipe.heads}) != 0) {
        return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} rows, which {} heads cannot share in pairs",
                    weight.name(), weight.shape()[0], recipe.heads);
      }
      break;
    case TensorChange::kUngroupRows:
      if (recipe.kv_heads == 0 || recipe.heads % recipe.kv_heads != 0 ||
          weight.shape()[0] % (recipe.heads + 2 * uint64_t{recipe.kv_heads}) != 0) {
        return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} rows, which {} heads and {} KV heads cannot share",
                    weight.name(), weight.shape()[0], recipe.heads, recipe.kv_heads);
      }
      break;
    case TensorChange::kNegatedExp:
    case TensorChange::kAddOne:
      out.type = formats::TensorType::kF32;
      break;
    case TensorChange::kTranspose:
      if (!plain) {
        return Fail(ErrorCode::kUnsupported, "tensor '{}' is quantised, and cannot be transposed", weight.name());
      }
      std::swap(out.rows, out.cols);
      break;
    case TensorChange::kDropRows:
      if (out.rows <= int64_t{recipe.dropped}) {
        return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} rows, of which the first {} are unused", weight.name(),
                    out.rows, recipe.dropped);
      }
      out.rows -= recipe.dropped;
      break;
  }
  return out;
}

std::optional<LayoutPart> LayoutOfPart(const TensorRecipe& recipe, size_t part) {
  if (part >= recipe.parts.size() || recipe.parts[part] == nullptr) return std::nullopt;
  if (recipe.change != TensorChange::kNone && recipe.change != TensorChange::kInterleaveRows) return std::nullopt;
  auto stored = recipe.parts[part]->layout();
  if (!stored) return std::nullopt;
  return LayoutPart{recipe.parts[part], std::move(*stored), recipe.change, recipe.heads};
}

std::shared_ptr<const formats::WeightLayout> LayoutPart::Make() const {
  formats::WeightLayout read = weight->ReadLayout(stored);
  if (change == TensorChange::kNone) return std::make_shared<const formats::WeightLayout>(std::move(read));
  const auto rows = static_cast<size_t>(weight->shape()[0]);
  return std::make_shared<const formats::WeightLayout>(std::visit(
      [&](const auto& layout) -> formats::WeightLayout { return InterleavedLayout(layout, heads, rows); }, read));
}

Result<TensorPart> ReadTensorPart(const TensorRecipe& recipe, size_t part) {
  auto out = DescribeTensorPart(recipe, part);
  if (!out || !out->data.empty()) return out;
  const StoredWeight& weight = *recipe.parts[part];
  out->owned = weight.Read();
  if (recipe.change == TensorChange::kInterleaveRows) {
    out->owned = Interleave(out->owned, recipe.heads, weight.shape()[0]);
  } else if (recipe.change == TensorChange::kUngroupRows) {
    out->owned = Ungroup(out->owned, recipe.heads, recipe.kv_heads, weight.shape()[0]);
  } else if (recipe.change == TensorChange::kTranspose) {
    out->owned = Transpose(out->owned, out->cols, out->rows);
  } else if (recipe.change == TensorChange::kAddOne) {
    out->owned = Mapped(out->owned, weight.type(), out->rows * out->cols, [](float value) { return value + 1.0f; });
  } else if (recipe.change == TensorChange::kNegatedExp) {
    out->owned = Mapped(out->owned, weight.type(), out->rows * out->cols, [](float value) { return -std::exp(value); });
  } else if (recipe.change == TensorChange::kDropRows) {
    const size_t row_bytes = out->owned.size() / weight.shape()[0];
    out->owned.erase(out->owned.begin(), out->owned.begin() + static_cast<std::ptrdiff_t>(recipe.dropped * row_bytes));
  }
  out->data = out->owned;
  return out;
}

}  // namespace inferflux::model
