#include "serving/models/load_text.h"

#include <utility>

#include "model/loading/vocab_from_gguf.h"

namespace inferflux::serving {

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
  ModelText out{std::move(*tokenizer), nullptr};
  const compute::HostMatrix* embedding = source.Find("token_embd.weight");
  if (embedding != nullptr && embedding->rows < out.tokenizer->size()) {
    return Fail(ErrorCode::kDataLoss, "{}: tokenizer.ggml.tokens has {} tokens, but token_embd.weight only {} rows",
                source.path(), out.tokenizer->size(), embedding->rows);
  }

  const auto code = source.metadata().GetOr<std::string>("tokenizer.chat_template", "");
  if (!code) return Forward(code);
  if (code->empty()) return out;
  auto compiled = text::ChatTemplate::Compile(*code);
  if (!compiled) return Forward(compiled, source.path() + ": its chat template");
  out.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  return out;
}

}  // namespace inferflux::serving
