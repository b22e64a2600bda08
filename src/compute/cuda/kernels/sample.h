// Chooses a token for each row of logits: what engine/sampling does on the host, for the parameters that most requests
// have.
#pragma once

#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::cuda {

// A change of one logit, in the order of the members (compute::SamplingParams). A token has at most one.
struct LogitEdit {
  int32_t token = 0;
  float bias = 0.0f;        // added
  float repetition = 1.0f;  // divides a positive logit, multiplies a negative one
  float penalty = 0.0f;     // subtracted
  int32_t banned = 0;       // not 0: the token may not be chosen
};

struct SampleParams {
  int32_t first_edit = 0, edits = 0;
  int32_t first_word = 0;            // of its mask
  int32_t words = -1;                // of 64 tokens each; -1: there is no mask
  float inverse_temperature = 0.0f;  // 0: greedy
  int32_t top_k = 0;                 // 0: all
  float top_p = 1.0f;
  float min_p = 0.0f;
  double uniform = 0.0;  // in [0, 1)
};

// Tokens of a vocabulary, so that their shares, of 2^44 at most, add up in 64 bits.
inline constexpr int64_t kMostSampledTokens = int64_t{1} << 20;

// tokens[r] = the choice of row r, or -1 if none is possible. `params` [rows], `edits`, `masks` and `tokens` are in
// device memory; `scratch` is [rows, columns]. Probabilities are added up as integers, so that no order of additions
// decides: the choice is the host's, but for a draw within 2^-24 of the border between two tokens.
Status SampleRows(Rows<const float> logits, const SampleParams* params, const LogitEdit* edits, const uint64_t* masks,
                  float* scratch, int32_t* tokens, Stream stream);

}  // namespace inferflux::cuda
