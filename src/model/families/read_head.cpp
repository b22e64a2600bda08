#include "model/families/read_head.h"

#include <fmt/ranges.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace inferflux::model {
namespace {

template <class T>
using Word = std::pair<std::string_view, T>;

constexpr Word<ScoreFunction> kFunctions[] = {
    {"none", ScoreFunction::kNone}, {"sigmoid", ScoreFunction::kSigmoid}, {"softmax", ScoreFunction::kSoftmax}};
constexpr Word<Pooling> kPoolings[] = {{"mean", Pooling::kMean}, {"cls", Pooling::kCls}, {"last", Pooling::kLast}};
constexpr Word<HeadActivation> kActivations[] = {{"tanh", HeadActivation::kTanh},
                                                 {"relu", HeadActivation::kRelu},
                                                 {"gelu", HeadActivation::kGelu},
                                                 {"silu", HeadActivation::kSilu},
                                                 {"none", HeadActivation::kNone}};

// Reads one of `words` into `out`, if the key is there.
template <class T, size_t n>
Status ReadWord(const ModelSource& source, std::string_view key, const Word<T> (&words)[n], T& out) {
  const auto found = source.metadata().GetOr<std::string>(key, "");
  if (!found) return Forward(found);
  if (found->empty()) return {};
  std::vector<std::string_view> known;
  for (const auto& [word, value] : words) {
    known.push_back(word);
    if (word != *found) continue;
    out = value;
    return {};
  }
  return Fail(ErrorCode::kUnsupported, "{}: {} is '{}'; supported are {}", source.path(), key, *found,
              fmt::join(known, ", "));
}

// Appends a layer whose inputs are the outputs of the layer before it.
Status AddLayer(const ModelSource& source, HeadLayer layer, ModelConfig* config) {
  const std::string name = layer.tensor + ".weight";
  const compute::HostMatrix* weight = source.Find(name);
  if (weight == nullptr) return Fail(ErrorCode::kNotFound, "{}: tensor '{}' is missing", source.path(), name);
  const int64_t inputs = config->head.empty() ? config->hidden : config->head.back().outputs;
  constexpr int64_t kMost = 1 << 24;
  if (weight->cols != inputs || weight->rows < 1 || weight->rows > kMost) {
    return Fail(ErrorCode::kDataLoss,
                "{}: tensor '{}' is [{}, {}]; a head's layer has {} inputs and at most {} outputs", source.path(), name,
                weight->rows, weight->cols, inputs, kMost);
  }
  layer.inputs = static_cast<int32_t>(inputs);
  layer.outputs = static_cast<int32_t>(weight->rows);
  config->head.push_back(std::move(layer));
  return {};
}

// The names in the file, or those that transformers gives labels without names.
Status ReadLabels(const ModelSource& source, ModelConfig* config) {
  const std::string key = config->architecture + ".classifier.output_labels";
  auto labels = source.metadata().GetOr<std::vector<std::string_view>>(key, {});
  if (!labels) return Forward(labels);
  const auto scores = static_cast<size_t>(config->head.back().outputs);
  if (!labels->empty() && labels->size() != scores) {
    return Fail(ErrorCode::kDataLoss, "{}: {} has {} names for {} scores", source.path(), key, labels->size(), scores);
  }
  config->pooling.labels.assign(labels->begin(), labels->end());
  for (size_t i = labels->size(); i < scores; ++i) config->pooling.labels.push_back(fmt::format("LABEL_{}", i));
  return {};
}

}  // namespace

Status ReadClassifier(const ModelSource& source, ModelConfig* config) {
  if (source.Find("cls.output.weight") == nullptr) {
    return Fail(ErrorCode::kNotFound,
                "{}: it ranks texts ({}.pooling_type is 4), but has no head for that: tensor 'cls.output.weight' is "
                "missing; convert the model again with a current converter",
                source.path(), config->architecture);
  }
  Pooling pooling = config->causal ? Pooling::kLast : Pooling::kCls;
  if (auto read = ReadWord(source, kScorePoolingKey, kPoolings, pooling); !read) return read;
  config->pooling.type = pooling;
  config->pooling.normalise = false;
  if (source.Find("cls.weight") != nullptr) {
    HeadActivation activation = config->head_activation;
    if (auto read = ReadWord(source, kHeadActivationKey, kActivations, activation); !read) return read;
    const bool norm = source.Find("cls.norm.weight") != nullptr;
    HeadLayer dense{.tensor = "cls", .activation = activation, .norm = norm ? "cls.norm" : ""};
    if (auto added = AddLayer(source, std::move(dense), config); !added) return added;
  }
  if (auto added = AddLayer(source, {.tensor = "cls.output"}, config); !added) return added;
  if (auto read = ReadLabels(source, config); !read) return read;
  ScoreFunction function = config->pooling.labels.size() == 1 ? ScoreFunction::kSigmoid : ScoreFunction::kSoftmax;
  if (auto read = ReadWord(source, kScoreFunctionKey, kFunctions, function); !read) return read;
  config->pooling.score_function = function;
  return {};
}

Status ReadEmbeddingHead(const ModelSource& source, ModelConfig* config) {
  for (const char* tensor : {"dense_2", "dense_3"}) {
    if (source.Find(std::string(tensor) + ".weight") == nullptr) continue;
    HeadLayer layer{.tensor = tensor};
    if (auto read = ReadWord(source, std::string(kDenseActivationKey) + tensor, kActivations, layer.activation);
        !read) {
      return read;
    }
    if (auto added = AddLayer(source, std::move(layer), config); !added) return added;
  }
  return {};
}

}  // namespace inferflux::model
