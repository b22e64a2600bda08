#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
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

// The columns from `first` on, as `count` rows.
std::vector<std::byte> Transpose(std::span<const std::byte> data, int64_t rows, int64_t cols, int64_t first,
                                 int64_t count) {
  const size_t bytes = data.size() / static_cast<size_t>(rows * cols);
  std::vector<std::byte> out(static_cast<size_t>(rows * count) * bytes);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < count; ++c) {
      std::memcpy(out.data() + static_cast<size_t>(c * rows + r) * bytes,
                  data.data() + static_cast<size_t>(r * cols + first + c) * bytes, bytes);
    }
  }
  return out;
}

// Of each head, the rows [first, first + count) of its `head_rows`.
std::vector<std::byte> HeadRows(std::span<const std::byte> data, size_t heads, size_t head_rows, size_t first,
                                size_t count) {
  const size_t row_bytes = data.size() / (heads * head_rows);
  std::vector<std::byte> out(heads * count * row_bytes);
  for (size_t h = 0; h < heads; ++h) {
    std::memcpy(out.data() + h * count * row_bytes, data.data() + (h * head_rows + first) * row_bytes,
                count * row_bytes);
  }
  return out;
}

bool IsOfHeads(TensorChange change) { return change == TensorChange::kHeadKeys || change == TensorChange::kHeadValues; }

Status CheckHeads(const TensorRecipe& recipe, const StoredWeight& weight) {
  const uint64_t rows = uint64_t{recipe.latents.plain_rows} + recipe.latents.value_rows;
  if (weight.shape().size() == 2 && weight.shape()[0] == recipe.heads * rows &&
      weight.shape()[1] == recipe.latents.rank) {
    return {};
  }
  return Fail(ErrorCode::kDataLoss, "tensor '{}' is [{}], but {} heads of {} rows make it [{}, {}]", weight.name(),
              fmt::join(weight.shape(), ", "), recipe.heads, rows, recipe.heads * rows, recipe.latents.rank);
}

// The parts of `data` that value heads have, each of `part_bytes` in a run of all heads, in GGUF's order.
void TileHeads(std::span<const std::byte> data, const formats::HfValueHeads& heads, std::span<std::byte> out) {
  const size_t bytes = data.size() / heads.heads, repeat = heads.heads / heads.key_heads;
  for (size_t head = 0; head < heads.heads; ++head) {
    const size_t from = head % heads.key_heads * repeat + head / heads.key_heads;
    std::memcpy(out.data() + head * bytes, data.data() + from * bytes, bytes);
  }
}

// All rows after the first `kept` ones. A vector is a column: one value per row.
std::vector<std::byte> TileRows(std::span<const std::byte> data, const formats::HfValueHeads& heads, size_t rows,
                                size_t kept) {
  std::vector<std::byte> out(data.begin(), data.end());
  const size_t first = kept * (data.size() / rows);
  TileHeads(data.subspan(first), heads, std::span(out).subspan(first));
  return out;
}

std::vector<std::byte> TileColumns(std::span<const std::byte> data, const formats::HfValueHeads& heads, size_t rows) {
  std::vector<std::byte> out(data.size());
  const size_t bytes = data.size() / rows;
  for (size_t r = 0; r < rows; ++r) {
    TileHeads(data.subspan(r * bytes, bytes), heads, std::span(out).subspan(r * bytes, bytes));
  }
  return out;
}

bool IsTile(TensorChange change) {
  return change == TensorChange::kTileRows || change == TensorChange::kTileLastRows ||
         change == TensorChange::kTileColumns || change == TensorChange::kTileNegatedExp;
}

Status CheckTile(const TensorRecipe& recipe, const TensorPart& part, const StoredWeight& weight) {
  const formats::HfValueHeads& heads = recipe.value_heads;
  const bool columns = recipe.change == TensorChange::kTileColumns;
  const uint64_t kept = recipe.change == TensorChange::kTileLastRows ? heads.key_rows : 0;
  const uint64_t size = columns ? static_cast<uint64_t>(part.cols) : weight.shape()[0];
  if (heads.key_heads == 0 || heads.heads % heads.key_heads != 0 || size <= kept || (size - kept) % heads.heads != 0) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} {}, which {} value heads cannot share", weight.name(), size,
                columns ? "columns" : "rows", heads.heads);
  }
  const auto block = static_cast<uint64_t>(Traits(part.type).block_elements);
  if (columns && size / heads.heads % block != 0) {
    return Fail(ErrorCode::kUnsupported, "tensor '{}' is quantised in blocks of {}, more than a head's {} columns",
                weight.name(), block, size / heads.heads);
  }
  return {};
}

bool IsPlainFloat(formats::TensorType type) {
  using T = formats::TensorType;
  return type == T::kF32 || type == T::kF16 || type == T::kBf16;
}

// Rounded to the type, as a converter of the whole model would.
void StoreAs(formats::TensorType type, float value, std::byte* out) {
  const auto store = [&](auto rounded) { std::memcpy(out, &rounded, sizeof rounded); };
  if (type == formats::TensorType::kF16) {
    store(ToFp16(value));
  } else if (type == formats::TensorType::kBf16) {
    store(ToBf16(value));
  } else {
    store(value);
  }
}

// Multiplies rows by their factors.
std::vector<std::byte> Multiplied(std::span<const std::byte> data, formats::TensorType from, const TensorPart& part,
                                  std::span<const formats::HfRowFactor> factors) {
  const auto cols = static_cast<size_t>(part.cols), rows = static_cast<size_t>(part.rows);
  const size_t from_bytes = data.size() / rows, bytes = Traits(part.type).block_bytes;
  std::vector<std::byte> out(rows * cols * bytes);
  std::vector<float> values(cols);
  size_t run = 0, end = 0;
  for (size_t row = 0; row < rows; ++row) {
    while (run < factors.size() && row >= end) {
      const uint32_t count = factors[run++].rows;
      end = count == 0 ? rows : end + count;
    }
    const double factor = row < end ? factors[run - 1].factor : 1.0;
    formats::DequantizeRow(from, data.data() + row * from_bytes, values.data(), part.cols);
    for (size_t c = 0; c < cols; ++c) {
      StoreAs(part.type, static_cast<float>(values[c] * factor), out.data() + (row * cols + c) * bytes);
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

// Each head's matrix by itself. Values in blocks become floats first.
std::vector<std::byte> TransposedHeads(std::vector<std::byte> data, formats::TensorType type,
                                       const TensorRecipe& recipe) {
  const int64_t rows = recipe.latents.plain_rows, cols = recipe.latents.rank;
  if (Traits(type).block_elements != 1) {
    data = Mapped(data, type, int64_t{recipe.heads} * rows * cols, [](float value) { return value; });
  }
  std::vector<std::byte> out;
  const size_t bytes = data.size() / recipe.heads;
  for (size_t h = 0; h < recipe.heads; ++h) {
    const auto head = Transpose(std::span(data).subspan(h * bytes, bytes), rows, cols, 0, cols);
    out.insert(out.end(), head.begin(), head.end());
  }
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
    case TensorChange::kTileRows:
    case TensorChange::kTileLastRows:
    case TensorChange::kTileColumns:
    case TensorChange::kTileNegatedExp:
      if (auto checked = CheckTile(recipe, out, weight); !checked) return Forward(checked);
      if (recipe.change == TensorChange::kTileNegatedExp) out.type = formats::TensorType::kF32;
      break;
    case TensorChange::kColumn:
    case TensorChange::kColumnOfNegatedExp:
      out.type = formats::TensorType::kF32;
      out.rows = elements;
      out.cols = 1;
      break;
    case TensorChange::kGroupRows:
      if (recipe.groups == 0 || elements % recipe.groups != 0 || !plain) {
        return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} values, which {} groups cannot share", weight.name(),
                    elements, recipe.groups);
      }
      out.rows = recipe.groups;
      out.cols = elements / recipe.groups;
      break;
    case TensorChange::kNegatedExp:
    case TensorChange::kAddOne:
      out.type = formats::TensorType::kF32;
      break;
    case TensorChange::kTranspose:
    case TensorChange::kTransposeFirstHalf:
    case TensorChange::kTransposeLastHalf:
      if (!plain) {
        return Fail(ErrorCode::kUnsupported, "tensor '{}' is quantised, and cannot be transposed", weight.name());
      }
      std::swap(out.rows, out.cols);
      if (recipe.change == TensorChange::kTranspose) break;
      if (out.rows % 2 != 0) {
        return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} columns, which are not two halves", weight.name(),
                    out.rows);
      }
      out.rows /= 2;
      break;
    case TensorChange::kHeadKeys:
    case TensorChange::kHeadValues:
      if (auto checked = CheckHeads(recipe, weight); !checked) return Forward(checked);
      out.rows = int64_t{recipe.heads} * recipe.latents.value_rows;
      if (recipe.change == TensorChange::kHeadKeys) {
        out.rows = int64_t{recipe.heads} * recipe.latents.rank;
        out.cols = recipe.latents.plain_rows;
        if (!plain) out.type = formats::TensorType::kF32;  // blocks run along the inputs, which become outputs
      }
      break;
    case TensorChange::kDropRows:
      if (out.rows <= int64_t{recipe.dropped}) {
        return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} rows, of which the first {} are unused", weight.name(),
                    out.rows, recipe.dropped);
      }
      out.rows -= recipe.dropped;
      break;
    case TensorChange::kPadRows:
      if (out.rows > int64_t{recipe.padded}) {
        return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} rows for {} tokens", weight.name(), out.rows,
                    recipe.padded);
      }
      out.rows = recipe.padded;
      break;
  }
  if (!recipe.factors.empty()) {
    if (recipe.change != TensorChange::kNone) {
      return Fail(ErrorCode::kUnsupported, "tensor '{}' changes in two ways", weight.name());
    }
    out.data = {};
    if (!IsPlainFloat(out.type)) out.type = formats::TensorType::kF32;
  }
  return out;
}

uint64_t StackedMatrices(const TensorRecipe& recipe) { return IsOfHeads(recipe.change) ? recipe.heads : 1; }

std::optional<LayoutPart> LayoutOfPart(const TensorRecipe& recipe, size_t part) {
  if (part >= recipe.parts.size() || recipe.parts[part] == nullptr || !recipe.factors.empty()) return std::nullopt;
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
  } else if (IsOfHeads(recipe.change)) {
    const size_t head_rows = recipe.latents.plain_rows + recipe.latents.value_rows;
    const bool keys = recipe.change == TensorChange::kHeadKeys;
    out->owned =
        keys ? HeadRows(out->owned, recipe.heads, head_rows, 0, recipe.latents.plain_rows)
             : HeadRows(out->owned, recipe.heads, head_rows, recipe.latents.plain_rows, recipe.latents.value_rows);
    if (keys) out->owned = TransposedHeads(out->owned, weight.type(), recipe);
  } else if (recipe.change == TensorChange::kTranspose) {
    out->owned = Transpose(out->owned, out->cols, out->rows, 0, out->rows);
  } else if (recipe.change == TensorChange::kTransposeFirstHalf || recipe.change == TensorChange::kTransposeLastHalf) {
    const int64_t first = recipe.change == TensorChange::kTransposeFirstHalf ? 0 : out->rows;
    out->owned = Transpose(out->owned, out->cols, 2 * out->rows, first, out->rows);
  } else if (recipe.change == TensorChange::kAddOne) {
    out->owned = Mapped(out->owned, weight.type(), out->rows * out->cols, [](float value) { return value + 1.0f; });
  } else if (recipe.change == TensorChange::kTileColumns) {
    out->owned = TileColumns(out->owned, recipe.value_heads, static_cast<size_t>(out->rows));
  } else if (IsTile(recipe.change)) {
    const size_t kept = recipe.change == TensorChange::kTileLastRows ? recipe.value_heads.key_rows : 0;
    out->owned = TileRows(out->owned, recipe.value_heads, weight.shape()[0], kept);
  }
  if (recipe.change == TensorChange::kColumn) {
    out->owned = Mapped(out->owned, weight.type(), out->rows, [](float value) { return value; });
  } else if (recipe.change == TensorChange::kNegatedExp || recipe.change == TensorChange::kColumnOfNegatedExp ||
             recipe.change == TensorChange::kTileNegatedExp) {
    out->owned = Mapped(out->owned, weight.type(), out->rows * out->cols, [](float value) { return -std::exp(value); });
  } else if (recipe.change == TensorChange::kDropRows) {
    const size_t row_bytes = out->owned.size() / weight.shape()[0];
    out->owned.erase(out->owned.begin(), out->owned.begin() + static_cast<std::ptrdiff_t>(recipe.dropped * row_bytes));
  } else if (recipe.change == TensorChange::kPadRows) {
    const size_t row_bytes = out->owned.size() / weight.shape()[0];
    const std::vector<std::byte> first(out->owned.begin(), out->owned.begin() + static_cast<std::ptrdiff_t>(row_bytes));
    out->owned.reserve(row_bytes * static_cast<size_t>(out->rows));
    for (uint64_t row = weight.shape()[0]; row < static_cast<uint64_t>(out->rows); ++row)
      out->owned.insert(out->owned.end(), first.begin(), first.end());
  }
  if (!recipe.factors.empty()) {
    out->owned = Multiplied(out->owned, weight.type(), *out, recipe.factors);
  }
  out->data = out->owned;
  return out;
}

}  // namespace inferflux::model
