// Tokens chosen on the device. What changes single logits is gathered here, from the row's history, so that the kernel
// gets one entry for each token that changes.
#include <unordered_map>

#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/sample.h"
#include "compute/sampling_random.h"

namespace inferflux::compute {
namespace {

constexpr float kGreedyBelow = 1e-6f;  // as on the host

class EditsOfRow {
 public:
  EditsOfRow(const SampleRow& row, std::vector<cuda::LogitEdit>& edits) : edits_(edits) {
    const SamplingParams& params = *row.params;
    for (const auto& [token, bias] : params.logit_bias) At(token).bias += bias;
    if (params.repetition_penalty != 1.0f) {
      for (const TokenId token : row.context.history) At(token).repetition = params.repetition_penalty;
    }
    if (params.presence_penalty != 0.0f || params.frequency_penalty != 0.0f) {
      const auto prompt = std::min(row.context.history.size(), static_cast<size_t>(row.context.prompt_tokens));
      std::unordered_map<TokenId, int32_t> counts;
      for (const TokenId token : row.context.history.subspan(prompt)) ++counts[token];
      for (const auto& [token, count] : counts) {
        At(token).penalty = params.presence_penalty + params.frequency_penalty * static_cast<float>(count);
      }
    }
    for (const TokenId token : row.context.banned) At(token).banned = 1;
  }

 private:
  cuda::LogitEdit& At(TokenId token) {
    const auto [found, added] = places_.try_emplace(token, edits_.size());
    if (added) edits_.push_back({.token = token});
    return edits_[found->second];
  }

  std::vector<cuda::LogitEdit>& edits_;
  std::unordered_map<TokenId, size_t> places_;
};

// An empty array has no memory.
template <class T>
cuda::ArenaPiece UploadAny(Cuda::Context& context, const std::vector<T>& values) {
  return values.empty() ? cuda::ArenaPiece() : cuda_ops::Upload<T>(context, values);
}

}  // namespace

bool Cuda::CanSample(const SampleRow& row) {
  const SamplingParams& params = *row.params;
  return !row.context.top_logprobs && !params.mirostat && params.dry_multiplier == 0.0f && params.top_n_sigma == 0.0f &&
         params.typical_p >= 1.0f && params.xtc_probability == 0.0f;
}

Result<std::vector<SampledToken>> Cuda::Sample(Context& context, View logits, std::span<const SampleRow> rows) {
  auto late = BeginSample(context, logits, rows);
  if (!late) return Forward(late);
  return FinishSample(context, std::move(*late));
}

Result<std::vector<SampledToken>> Cuda::FinishSample(Context& context, LateTokens late) {
  std::vector<int32_t> tokens(late.bytes() / sizeof(int32_t));
  if (!tokens.empty()) {
    cuda_ops::Must(late.Finish(tokens.data()));
    if (context.devices != nullptr) cuda_ops::Must(context.devices->Check());
  }
  std::vector<SampledToken> out;
  for (const int32_t token : tokens) out.push_back({.token = token, .chosen = {}, .top = {}});
  return out;
}

Result<Cuda::LateTokens> Cuda::BeginSample(Context& context, View logits, std::span<const SampleRow> rows) {
  if (rows.empty()) return LateTokens();
  std::vector<cuda::SampleParams> params;
  std::vector<cuda::LogitEdit> edits;
  std::vector<uint64_t> words;
  for (const SampleRow& row : rows) {
    const SamplingParams& wanted = *row.params;
    const bool greedy = wanted.temperature < kGreedyBelow;
    cuda::SampleParams& to =
        params.emplace_back(cuda::SampleParams{.first_edit = static_cast<int32_t>(edits.size()),
                                               .first_word = static_cast<int32_t>(words.size()),
                                               .inverse_temperature = greedy ? 0.0f : 1.0f / wanted.temperature,
                                               .top_k = wanted.top_k,
                                               .top_p = wanted.top_p,
                                               .min_p = wanted.min_p,
                                               .uniform = Uniform(wanted.seed, row.context.draw, RandomUse::kToken)});
    EditsOfRow of_row(row, edits);
    to.edits = static_cast<int32_t>(edits.size()) - to.first_edit;
    if (row.context.mask == nullptr) continue;
    const auto mask = row.context.mask->words();
    words.insert(words.end(), mask.begin(), mask.end());
    to.words = static_cast<int32_t>(mask.size());
  }
  const auto param_memory = UploadAny(context, params), edit_memory = UploadAny(context, edits);
  const auto word_memory = UploadAny(context, words);
  const Buffer scratch = cuda_ops::New(context, logits.rows, logits.cols);
  const size_t bytes = rows.size() * sizeof(int32_t);
  const auto chosen = cuda_ops::Must(context.arena->Allocate(bytes));
  cuda_ops::Must(cuda::SampleRows(cuda_ops::RowsOf(logits), static_cast<const cuda::SampleParams*>(param_memory.get()),
                                  static_cast<const cuda::LogitEdit*>(edit_memory.get()),
                                  static_cast<const uint64_t*>(word_memory.get()), scratch.data(),
                                  static_cast<int32_t*>(chosen.get()), context.stream));
  return context.late->Begin(chosen.get(), bytes, context.stream);
}

}  // namespace inferflux::compute
