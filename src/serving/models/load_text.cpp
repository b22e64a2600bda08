#include "serving/models/load_text.h"

#include <utility>

#include "formats/huggingface/hf_vocab.h"
#include "model/loading/vocab_from_gguf.h"

namespace inferflux::serving {
namespace {

// llama.cpp's converter has no count of them: a separator beside the end of a text makes two, and so does a unigram
// vocabulary of an encoder.
Result<int32_t> PairSeparators(const formats::GgufMetadata& metadata) {
  constexpr int64_t kMost = 8;
  const auto model = metadata.GetOr<std::string>("tokenizer.ggml.model", "");
  if (!model) return Forward(model);
  const auto apart = metadata.GetOr<bool>("tokenizer.ggml.add_sep_token", false);
  if (!apart) return Forward(apart);
  const auto bos = metadata.GetOr<bool>("tokenizer.ggml.add_bos_token", false);
  if (!bos) return Forward(bos);
  const bool two = (*apart && *model != "bert") || (*model == "t5" && *bos);
  const auto count = metadata.GetOr<int64_t>(formats::kPairSeparatorsKey, two ? 2 : 1);
  if (!count) return Forward(count);
  if (*count >= 0 && *count <= kMost) return static_cast<int32_t>(*count);
  return Fail(ErrorCode::kDataLoss, "{}: {} is {}, which is not between 0 and {}", metadata.source(),
              formats::kPairSeparatorsKey, *count, kMost);
}

}  // namespace

Result<ModelText> LoadText(const model::ModelSource& source) {
  if (!source.metadata().Contains("tokenizer.ggml.model")) {
    return Fail(ErrorCode::kNotFound, "{}: no vocabulary: a {}", source.path(),
                source.format() == "gguf" ? "GGUF file of a model has one under tokenizer.ggml.*"
                                          : "directory has it in tokenizer.json or tokenizer.model");
  }
  auto specs = model::VocabFromGguf(source.metadata());
  if (!specs) return Forward(specs, source.path());
  auto tokenizer = text::Tokenizer::Create(std::move(specs->vocab), std::move(specs->merges));
  if (!tokenizer) return Forward(tokenizer, source.path());
  ModelText out{.tokenizer = std::move(*tokenizer), .chat_template = nullptr};
  const compute::HostMatrix* embedding = source.Find("token_embd.weight");
  if (embedding != nullptr && embedding->rows < out.tokenizer->size()) {
    return Fail(ErrorCode::kDataLoss, "{}: tokenizer.ggml.tokens has {} tokens, but token_embd.weight only {} rows",
                source.path(), out.tokenizer->size(), embedding->rows);
  }

  auto separators = PairSeparators(source.metadata());
  if (!separators) return Forward(separators);
  out.pair_separators = *separators;
  auto rerank = source.metadata().GetOr<std::string>("tokenizer.chat_template.rerank", "");
  if (!rerank) return Forward(rerank);
  out.rerank_template = std::move(*rerank);
  const auto code = source.metadata().GetOr<std::string>("tokenizer.chat_template", "");
  if (!code) return Forward(code);
  if (code->empty()) return out;
  auto compiled = text::ChatTemplate::Compile(*code);
  if (!compiled) return Forward(compiled, source.path() + ": its chat template");
  out.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  return out;
}

}  // namespace inferflux::serving
