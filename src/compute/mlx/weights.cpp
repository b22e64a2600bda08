#include "compute/mlx/weights.h"

#include <fmt/format.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>
#include <mlx/version.h>

#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/without_exceptions.h"
#include "compute/host/check_matrix.h"
#include "compute/mlx/arrays.h"
#include "formats/quant/dequantize.h"

namespace inferflux::compute {
namespace {

using formats::TensorType;

template <class T>
mx::array Plain(const HostMatrix& matrix, mx::Dtype dtype) {
  return MakeArray<T>({Int(matrix.rows), Int(matrix.cols)}, dtype,
                      [&](T* out) { std::memcpy(out, matrix.data.data(), matrix.data.size()); });
}

mx::array AsBf16(const HostMatrix& matrix) {
  return MakeArray<Bf16>({Int(matrix.rows), Int(matrix.cols)}, mx::bfloat16, [&](Bf16* out) {
    std::vector<float> row(static_cast<size_t>(matrix.cols));
    for (int64_t r = 0; r < matrix.rows; ++r) {
      formats::DequantizeRow(matrix.type, matrix.data.data() + r * host::RowBytesOf(matrix), row.data(), matrix.cols);
      for (const float value : row) *out++ = ToBf16(value);
    }
  });
}

// MLX's own quantisation, of the decoded values.
Mlx::Weights Requantised(const HostMatrix& matrix) {
  constexpr int kBits = 8;
  const mx::array values = MakeArray<float>({Int(matrix.rows), Int(matrix.cols)}, mx::float32, [&](float* out) {
    for (int64_t r = 0; r < matrix.rows; ++r) {
      formats::DequantizeRow(matrix.type, matrix.data.data() + r * host::RowBytesOf(matrix), out + r * matrix.cols,
                             matrix.cols);
    }
  });
  std::vector<mx::array> parts = mx::quantize(values, kAffineGroup, kBits);
  mx::eval(parts);  // frees the values
  return {parts.at(0), parts.at(1), parts.at(2), kBits, kAffineGroup, "affine"};
}

// For types without an MLX layout.
Mlx::Weights Converted(const Mlx::Context& context, const HostMatrix& matrix) {
  if (context.requantise && matrix.cols % kAffineGroup == 0) return Requantised(matrix);
  return {AsBf16(matrix), std::nullopt, std::nullopt};
}

template <class T>
mx::array Copied(std::span<const std::byte> data, int64_t rows, mx::Dtype dtype) {
  const int cols = Int(static_cast<int64_t>(data.size() / sizeof(T)) / rows);
  return MakeArray<T>({Int(rows), cols}, dtype, [&](T* out) { std::memcpy(out, data.data(), data.size()); });
}

mx::array Scales(TensorType type, std::span<const std::byte> data, int64_t rows) {
  if (type == TensorType::kF16) return Copied<Fp16>(data, rows, mx::float16);
  if (type == TensorType::kBf16) return Copied<Bf16>(data, rows, mx::bfloat16);
  return Copied<float>(data, rows, mx::float32);
}

// The layout of MLX's own checkpoints, without conversion.
Mlx::Weights AsTheyAre(const formats::AffineLayout& layout, int64_t rows) {
  return {Copied<uint32_t>(layout.words, rows, mx::uint32),
          Scales(layout.scale_type, layout.scales, rows),
          Scales(layout.scale_type, layout.biases, rows),
          layout.bits,
          layout.group,
          "affine"};
}

int64_t BytesOf(const Mlx::Weights& weights) {
  size_t bytes = weights.values.nbytes();
  if (weights.scales) bytes += weights.scales->nbytes();
  if (weights.biases) bytes += weights.biases->nbytes();
  return static_cast<int64_t>(bytes);
}

std::string LayoutOf(const Mlx::Weights& weights) {
  if (weights.biases) return fmt::format("affine {}-bit groups of {}", weights.bits, weights.group);
  if (weights.scales) return weights.mode;
  const mx::Dtype type = weights.values.dtype();
  return type == mx::float32 ? "f32" : type == mx::float16 ? "f16" : "bf16";
}

bool SameLayout(const Mlx::Weights& a, const Mlx::Weights& b) {
  const bool same_scales = !a.scales || !b.scales || a.scales->dtype() == b.scales->dtype();
  return a.mode == b.mode && a.bits == b.bits && a.group == b.group && a.values.dtype() == b.values.dtype() &&
         same_scales;
}

// Joins along `axis` and evaluates, so that the pieces are freed before the next ones are made.
Mlx::Weights Joined(const std::vector<Mlx::Weights>& pieces, bool new_axis) {
  if (pieces.size() == 1 && !new_axis) return pieces.front();
  const auto join = [&](auto member) {
    std::vector<mx::array> arrays;
    for (const auto& piece : pieces) arrays.push_back(member(piece));
    return new_axis ? mx::stack(std::move(arrays), 0) : mx::concatenate(std::move(arrays), 0);
  };
  Mlx::Weights out{.values = join([](const auto& w) { return w.values; }),
                   .bits = pieces.front().bits,
                   .group = pieces.front().group,
                   .mode = pieces.front().mode};
  std::vector<mx::array> wanted{out.values};
  if (pieces.front().scales) {
    out.scales = join([](const auto& w) { return *w.scales; });
    wanted.push_back(*out.scales);
  }
  if (pieces.front().biases) {
    out.biases = join([](const auto& w) { return *w.biases; });
    wanted.push_back(*out.biases);
  }
  mx::eval(std::move(wanted));
  return out;
}

Status Check(std::span<const HostMatrix> parts) {
  if (auto checked = host::CheckParts(parts); !checked) return checked;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t rows = 0;
  for (const HostMatrix& part : parts) {
    if (part.cols > kMost || part.rows > kMost - rows) {
      return Fail(ErrorCode::kUnsupported, "{} is [{}, {}]: an MLX array has at most {} rows and columns", part.name,
                  part.rows, part.cols, kMost);
    }
    rows += part.rows;
  }
  return {};
}

// Adjacent parts of the same layout become one array, and one matmul.
Mlx::Matrix Stacked(Mlx::Context& context, std::span<const HostMatrix> parts) {
  Mlx::Matrix out{.cols = parts.front().cols, .parts = {}, .description = {}};
  std::vector<Mlx::Weights> run;
  const auto finish = [&] {
    if (run.empty()) return;
    out.parts.push_back(Joined(run, /*new_axis=*/false));
    out.description += (out.description.empty() ? "" : " + ") + LayoutOf(out.parts.back());
    run.clear();
  };
  for (const HostMatrix& part : parts) {
    Mlx::Weights weights = WeightsOf(context, part);
    if (!run.empty() && !SameLayout(run.back(), weights)) finish();
    run.push_back(std::move(weights));
    out.rows += part.rows;
  }
  finish();
  for (const Mlx::Weights& weights : out.parts) context.weight_bytes += BytesOf(weights);
  out.description =
      fmt::format("{} [{}, {}] as {}, {}", host::TypesOf(parts), out.rows, out.cols, out.description, context.device);
  return out;
}

}  // namespace

mx::Dtype MatmulType(const Mlx::Weights& weights, bool narrow) {
  if (!narrow) return mx::float32;
  if (weights.mode == "mxfp4") return mx::bfloat16;
  return weights.scales ? weights.scales->dtype() : weights.values.dtype();
}

Mlx::Weights WeightsOf(Mlx::Context& context, const HostMatrix& matrix) {
  if (matrix.layout) return AsTheyAre(std::get<formats::AffineLayout>(*matrix.layout), matrix.rows);
  switch (matrix.type) {
    case TensorType::kF32:
      return {Plain<float>(matrix, mx::float32), std::nullopt, std::nullopt};
    case TensorType::kF16:
      return {Plain<Fp16>(matrix, mx::float16), std::nullopt, std::nullopt};
    case TensorType::kBf16:
      return {Plain<Bf16>(matrix, mx::bfloat16), std::nullopt, std::nullopt};
    case TensorType::kMxfp4:
      return Mxfp4Weights(matrix);
    default:
      break;
  }
  const bool lossless = AffineBits(matrix.type) > 0;
  Mlx::Weights weights = lossless ? AffineWeights(matrix) : Converted(context, matrix);
  Mlx::Converted& converted = context.converted[std::string(formats::TensorTypeName(matrix.type))];
  converted.layout = LayoutOf(weights) + (lossless ? "" : ", at a loss");
  converted.file_bytes += static_cast<int64_t>(matrix.data.size());
  converted.bytes += BytesOf(weights);
  return weights;
}

Result<Mlx::Matrix> Mlx::LoadMatrix(Context& context, std::span<const HostMatrix> parts) {
  if (auto checked = Check(parts); !checked) return Forward(checked);
  const auto table = context.tables.find(parts.front().name);
  if (table != context.tables.end() && parts.size() == 1) return table->second;
  return WithoutExceptions("MLX holding " + parts.front().name,
                           [&]() -> Result<Matrix> { return Stacked(context, parts); });
}

Result<Mlx::Table> Mlx::LoadTable(Context& context, const HostMatrix& table) {
  auto loaded = LoadMatrix(context, {&table, 1});
  if (loaded) context.tables.insert_or_assign(table.name, *loaded);
  return loaded;
}

Result<Mlx::Experts> Mlx::LoadExperts(Context& context, std::span<const std::vector<HostMatrix>> parts) {
  if (parts.empty()) return Fail(ErrorCode::kInvalidArgument, "a mixture of no experts");
  for (const auto& expert : parts) {
    if (auto checked = Check(expert); !checked) return Forward(checked);
  }
  return WithoutExceptions("MLX holding " + parts.front().front().name, [&]() -> Result<Experts> {
    std::vector<Matrix> each;
    for (const auto& expert : parts) each.push_back(Stacked(context, expert));
    Experts out{static_cast<int64_t>(parts.size()), each.front()};
    for (size_t p = 0; p < out.stacked.parts.size(); ++p) {
      std::vector<Weights> pieces;
      for (const Matrix& matrix : each) pieces.push_back(matrix.parts.at(p));
      out.stacked.parts[p] = Joined(pieces, /*new_axis=*/true);
    }
    return out;
  });
}

std::string Mlx::DescribeExperts(const Experts& experts) {
  return fmt::format("{} experts, each {}", experts.experts, experts.stacked.description);
}

std::vector<std::string> Mlx::LoadNotes(const Context& context) {
  std::vector<std::string> notes{fmt::format("MLX {} on the {}", mx::version(), context.device)};
  for (const auto& [type, converted] : context.converted) {
    notes.push_back(fmt::format("{} weights are held as {}: {:.1f} MiB, {:.1f} MiB in the file", type, converted.layout,
                                static_cast<double>(converted.bytes) / (1 << 20),
                                static_cast<double>(converted.file_bytes) / (1 << 20)));
  }
  return notes;
}

}  // namespace inferflux::compute
