#include "model/families/read_pooling.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/families/read_head.h"

namespace inferflux::model {

Status ReadPooling(const ModelSource& source, ModelConfig* config) {
  constexpr int64_t kUnsaid = 0, kRank = 4;
  constexpr Pooling kKinds[] = {Pooling::kMean, Pooling::kCls, Pooling::kLast};  // 1, 2, 3
  PoolingConfig& out = config->pooling;
  const bool causal = config->causal;
  const std::string prefix = config->architecture + ".", key = prefix + "pooling_type";
  const auto type = source.metadata().GetOr<int64_t>(key, kUnsaid);
  if (!type) return Forward(type);
  if (*type < kUnsaid || *type > kRank) {
    return Fail(ErrorCode::kUnsupported,
                "{}: {} is {}; known are 1 (mean), 2 (first token), 3 (last token) and 4 (rank)", source.path(), key,
                *type);
  }
  if (*type == kRank) return ReadClassifier(source, config);
  if (*type == kUnsaid) out.type = causal ? Pooling::kLast : Pooling::kMean;
  if (*type > kUnsaid) out.type = kKinds[*type - 1];

  const auto normalise = source.metadata().GetOr<bool>(prefix + "pooling_normalize", out.normalise);
  if (!normalise) return Forward(normalise);
  out.normalise = *normalise;
  auto lengths = source.metadata().GetOr<std::vector<int32_t>>(prefix + "matryoshka_dimensions", {});
  if (!lengths) return Forward(lengths);
  for (const int32_t length : *lengths) {
    if (length >= 1 && length <= config->hidden) continue;
    return Fail(ErrorCode::kDataLoss, "{}: {}matryoshka_dimensions has {}, which is not between 1 and {}",
                source.path(), prefix, length, config->hidden);
  }
  out.lengths = std::move(*lengths);
  std::sort(out.lengths.begin(), out.lengths.end());
  return ReadEmbeddingHead(source, config);
}

}  // namespace inferflux::model
