#include "model/huggingface/classifier.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "model/families/read_head.h"

namespace inferflux::model {
namespace {

using formats::HfConfig;
using formats::JsonObject;

// The labels in the order of their scores: {"0": "no", "1": "yes"}.
Result<std::vector<std::string>> Labels(const HfConfig& config) {
  const auto named = config.raw.Find<JsonObject>("id2label");
  if (!named) return Forward(named);
  std::vector<std::string> labels;
  if (!*named) return labels;
  for (size_t i = 0; i < (*named)->raw().size(); ++i) {
    auto label = (*named)->Get<std::string>(std::to_string(i));
    if (!label) return Forward(label);
    labels.push_back(std::move(*label));
  }
  return labels;
}

// What sentence-transformers applies to the scores: in config.json under its own key, or under the older one.
Result<std::string> ScoreFunctionOf(const HfConfig& config) {
  auto name = config.raw.Find<std::string>("sbert_ce_default_activation_function");
  if (!name) return Forward(name);
  const auto own = config.raw.Find<JsonObject>("sentence_transformers");
  if (!own) return Forward(own);
  if (*own) {
    auto newer = (*own)->Find<std::string>("activation_fn");
    if (!newer) return Forward(newer);
    if (*newer) name = std::move(newer);
  }
  if (!*name) return std::string();
  const std::string_view kind = std::string_view(**name).substr((*name)->rfind('.') + 1);
  if (kind == "Identity") return std::string("none");
  if (kind == "Sigmoid") return std::string("sigmoid");
  return Fail(ErrorCode::kUnsupported, "{}: the activation '{}' of scores is not supported; Identity and Sigmoid are",
              config.raw.source(), **name);
}

}  // namespace

bool IsClassifier(const HfConfig& config) {
  return std::ranges::any_of(config.architectures,
                             [](const std::string& name) { return name.ends_with("ForSequenceClassification"); });
}

Status RefuseOtherHeads(const HfConfig& config) {
  constexpr std::string_view kOthers[] = {"ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice",
                                          "ForImageClassification", "ForAudioClassification"};
  for (const std::string& name : config.architectures) {
    for (const std::string_view other : kOthers) {
      if (!name.ends_with(other)) continue;
      return Fail(ErrorCode::kUnsupported,
                  "{}: the head of architecture '{}' is not supported; of heads, those of sequence classification "
                  "(...ForSequenceClassification) are",
                  config.raw.source(), name);
    }
  }
  return {};
}

Status WriteClassifier(const HfConfig& config, const HfFamily& family, formats::GgufMetadataBuilder& metadata) {
  if (!IsClassifier(config)) return {};
  constexpr uint32_t kRank = 4;
  const std::string prefix = std::string(family.architecture) + ".";
  metadata.Set<uint32_t>(prefix + "pooling_type", kRank);
  const auto labels = Labels(config);
  if (!labels) return Forward(labels);
  if (!labels->empty()) {
    metadata.SetArray(prefix + "classifier.output_labels", std::span<const std::string>(*labels));
  }
  const auto function = ScoreFunctionOf(config);
  if (!function) return Forward(function);
  if (!function->empty()) metadata.Set(kScoreFunctionKey, *function);
  const auto pooling = config.raw.GetOr<std::string>("classifier_pooling", "");
  if (!pooling) return Forward(pooling);
  if (!pooling->empty()) metadata.Set(kScorePoolingKey, *pooling);
  const auto activation =
      config.raw.GetOr<std::string>("classifier_activation", std::string(family.checkpoint.head_activation));
  if (!activation) return Forward(activation);
  if (!activation->empty()) metadata.Set(kHeadActivationKey, *activation);
  return {};
}

}  // namespace inferflux::model
