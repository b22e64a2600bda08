// Reads the head of a model: what turns a pooled state into an embedding or into the scores of labels.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Our own keys of a classifier, where GGUF has none.
inline constexpr std::string_view kScoreFunctionKey = "inferflux.classifier.score_function";  // "none", "sigmoid", ...
inline constexpr std::string_view kScorePoolingKey = "inferflux.classifier.pooling";          // "cls", "mean", "last"
inline constexpr std::string_view kHeadActivationKey = "inferflux.classifier.activation";     // "tanh", "relu", "gelu"

inline constexpr std::string_view kDenseActivationKey = "inferflux.activation.";  // and "dense_2"
inline constexpr size_t kMostDenseLayers = 2;

// For a file that ranks (pooling_type 4): the head of a sequence classifier, from llama.cpp's tensors "cls",
// "cls.norm" and "cls.output". Sets the pooling, the labels and the function of the scores. kNotFound if the file has
// no such tensors.
Status ReadClassifier(const ModelSource& source, ModelConfig* config);

// For every other file: the layers that an embedding passes through after the pooling, "dense_2" and "dense_3".
Status ReadEmbeddingHead(const ModelSource& source, ModelConfig* config);

}  // namespace inferflux::model
