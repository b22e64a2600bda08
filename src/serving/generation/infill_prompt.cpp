#include "serving/generation/infill_prompt.h"

#include "text/infill_marks.h"

namespace inferflux::serving {
namespace {

void AppendTokens(const std::vector<TokenId>& tokens, std::vector<TokenId>& out) {
  out.insert(out.end(), tokens.begin(), tokens.end());
}

}  // namespace

Result<std::vector<TokenId>> InfillPrompt(const ServedModel& model, const InfillText& text) {
  const text::Tokenizer& tokenizer = *model.tokenizer;
  const auto marks = text::FindInfillMarks(tokenizer);
  if (!marks) {
    return Fail(ErrorCode::kUnsupported,
                "needs a model that was trained to fill in the middle, and the vocabulary of '{}' has no marks for it",
                model.id);
  }
  std::vector<TokenId> out;
  if (tokenizer.bos() && tokenizer.add_bos()) out.push_back(*tokenizer.bos());
  for (const auto& [name, content] : text.files) {
    if (marks->file) {
      out.push_back(*marks->file);
      AppendTokens(tokenizer.Encode(name + "\n" + content), out);
    } else {
      AppendTokens(tokenizer.Encode(content + "\n"), out);
    }
  }
  out.push_back(marks->prefix);
  AppendTokens(tokenizer.Encode(text.prefix), out);
  out.push_back(marks->suffix);
  AppendTokens(tokenizer.Encode(text.suffix), out);
  out.push_back(marks->middle);
  return out;
}

}  // namespace inferflux::serving
