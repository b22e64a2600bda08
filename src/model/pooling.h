// How the hidden states of a text become one vector, and what the head makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inferflux::model {

enum class Pooling {
  kMean,  // of all tokens
  kCls,   // the first token's
  kLast,  // the last token's
};

// How a classifier's scores are reported, unless a client wants them as they are.
enum class ScoreFunction {
  kNone,
  kSigmoid,  // each score by itself
  kSoftmax,  // over all scores of a text
};

struct PoolingConfig {
  std::optional<Pooling> type;   // nothing: the model does not pool
  bool normalise = true;         // an embedding is normalised to length 1
  std::vector<int32_t> lengths;  // lengths to which a vector may be truncated, as trained (arXiv:2205.13147); ascending
  // The names of a sequence classifier's labels, one for each score that its head makes of the pooled state. Such a
  // model makes no embeddings and generates nothing. Empty: it is none.
  std::vector<std::string> labels = {};
  ScoreFunction score_function = ScoreFunction::kNone;

  bool scores() const { return !labels.empty(); }
};

// What follows a layer of the head. One row of values is computed on the host, so that no backend needs kernels for it.
enum class HeadActivation { kNone, kTanh, kRelu, kGelu, kSilu };

// A layer of the head, which turns a pooled state into an embedding or into scores: norm(activation(W x + b)).
struct HeadLayer {
  std::string tensor;  // its weight's and bias' name: "cls"
  int32_t inputs = 0;
  int32_t outputs = 0;
  HeadActivation activation = HeadActivation::kNone;
  std::string norm = {};  // the name of its norm's tensors; empty: none
};

}  // namespace inferflux::model
