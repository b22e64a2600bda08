// Products with weights as files have them, and rows of such weights.
#pragma once

#include "compute/cuda/kernels/row_ops.h"
#include "formats/tensor_type.h"

namespace inferflux::cuda {

// [rows, columns] of a type that has WeightRows, `row_bytes` apart.
struct WeightMatrix {
  formats::TensorType type = formats::TensorType::kF32;
  const uint8_t* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_bytes = 0;
};

// Rows that one kernel of MultiplyFewRows takes at a time.
inline constexpr int64_t kRowsAtOnce = 4;

// y[m, n] = x[m, k] * w[n, k]^T in float, for few rows: every weight is read once for four rows. A row's result does
// not depend on the other rows, but a single row with blocks of weights may go to MultiplyOneRow (one_row.h).
Status MultiplyFewRows(Rows<const float> x, const WeightMatrix& w, Rows<float> y, Stream stream);

// The same where line l of y takes the weights of expert experts[l], whose rows begin at `w.rows` times it, and row
// l / lines_per_row of x.
Status MultiplyLines(Rows<const float> x, int32_t lines_per_row, const int32_t* experts, const WeightMatrix& w,
                     Rows<float> y, Stream stream);

// The same by tensor cores, for up to kThinRows rows and blocks of weights, each of which is read once. x: [m, w.row
// elements] of the rows' Element (Bf16 for MXFP4, else Fp16), zeros beyond k, as Narrow makes them; row r of y is
// multiplied by row_scales[r] where there are scales.
inline constexpr int64_t kThinRows = 32;
Status MultiplyThin(Rows<const Fp16> x, const float* row_scales, const WeightMatrix& w, Rows<float> y, Stream stream);
Status MultiplyThin(Rows<const Bf16> x, const float* row_scales, const WeightMatrix& w, Rows<float> y, Stream stream);

// Lines of a mixture of experts, sorted by expert, and the tiles of up to 64 lines that they make. In device memory.
struct LineGroups {
  const int32_t* order = nullptr;  // [lines]: the lines of the first expert, those of the second one, ...
  const int32_t* tiles = nullptr;  // [tile_count, 3]: expert, first in `order`, lines; expert -1: unused
  int32_t tile_count = 0;          // at most: the host does not know how many there are
  int32_t lines_per_row = 1;       // line l takes row l / lines_per_row of x

  static int64_t MostTiles(int64_t lines, int64_t experts) { return lines / 64 + (experts < lines ? experts : lines); }
};

// Products of several heads at once: head h multiplies the columns from h * x_columns on of x by the weights whose rows
// begin at `w.rows` times it, and yields the columns from h * y_columns on of y.
struct Heads {
  int32_t count = 1;
  int64_t x_columns = 0;
  int64_t y_columns = 0;
};

// MultiplyFewRows of heads, and the same by tensor cores in tiles of 64 rows, with x and row_scales as of MultiplyThin
// (Bf16 for BF16 too; not for F32). x and y: of the first head; with tiles, x_columns is a multiple of 16.
Status MultiplyHeads(Rows<const float> x, const Heads& heads, const WeightMatrix& w, Rows<float> y, Stream stream);
Status MultiplyHeads(Rows<const Fp16> x, const float* row_scales, const Heads& heads, const WeightMatrix& w,
                     Rows<float> y, Stream stream);
Status MultiplyHeads(Rows<const Bf16> x, const float* row_scales, const Heads& heads, const WeightMatrix& w,
                     Rows<float> y, Stream stream);

// Fills order [lines] and tiles [tile_count, 3] from experts [lines], which are below `count`.
Status GroupLines(const int32_t* experts, int64_t lines, int32_t count, int32_t* order, int32_t* tiles,
                  int32_t tile_count, Stream stream);

// MultiplyLines by tensor cores: each expert's weights are read once for 64 of its lines. x and row_scales as of
// MultiplyHeads, by the rows of x.
Status MultiplyGroups(Rows<const Fp16> x, const float* row_scales, const LineGroups& groups, const WeightMatrix& w,
                      Rows<float> y, Stream stream);
Status MultiplyGroups(Rows<const Bf16> x, const float* row_scales, const LineGroups& groups, const WeightMatrix& w,
                      Rows<float> y, Stream stream);

// y [w.rows, columns] = the values of all rows as T, zeros beyond w.columns; `columns` is a multiple of 16. T is the
// rows' Element.
Status UnpackRows(const WeightMatrix& w, Fp16* y, int64_t columns, Stream stream);
Status UnpackRows(const WeightMatrix& w, Bf16* y, int64_t columns, Stream stream);

// y[r] = row tokens[r] of the table, which the caller has checked; y is dense.
Status EmbedRows(const WeightMatrix& table, const int32_t* tokens, int64_t count, float* y, Stream stream);

}  // namespace inferflux::cuda
