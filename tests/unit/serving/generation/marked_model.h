// A model whose tokens are the 256 bytes and a few control tokens, and which only renders and tokenises.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serving/models/served_model.h"
#include "text/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::testing {

inline constexpr TokenId kMarkedEnd = 256;  // "</s>"; the marks follow

inline std::shared_ptr<const text::Tokenizer> MarkedTokenizer(
    const std::vector<std::string>& marks,
    const std::function<void(text::VocabSpec&)>& edit = [](text::VocabSpec&) {}) {
  text::VocabSpec vocab{.model = "llama"};
  for (int byte = 0; byte < 256; ++byte) {
    vocab.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    vocab.kinds.push_back(text::TokenKind::kByte);
  }
  vocab.tokens.push_back("</s>");
  vocab.tokens.insert(vocab.tokens.end(), marks.begin(), marks.end());
  vocab.kinds.resize(vocab.tokens.size(), text::TokenKind::kControl);
  vocab.tokens.push_back("<unk>");
  vocab.kinds.push_back(text::TokenKind::kUnknown);
  vocab.unk = static_cast<TokenId>(vocab.tokens.size() - 1);
  vocab.scores.assign(vocab.tokens.size(), 0.0f);
  vocab.eos = kMarkedEnd;
  vocab.end_of_generation = {kMarkedEnd};
  edit(vocab);
  auto made = text::Tokenizer::Create(std::move(vocab), {});
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *made : nullptr;
}

inline std::shared_ptr<const text::ChatTemplate> TemplateOf(std::string_view code) {
  auto compiled = text::ChatTemplate::Compile(code);
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().message);
  return compiled ? std::make_shared<const text::ChatTemplate>(std::move(*compiled)) : nullptr;
}

inline serving::ServedModel MarkedModel(const std::vector<std::string>& marks = {}, std::string_view code = "") {
  serving::ServedModel out;
  out.id = "m";
  out.info.context = 1000;
  out.tokenizer = MarkedTokenizer(marks);
  if (!code.empty()) out.chat_template = TemplateOf(code);
  return out;
}

inline std::vector<TokenId> BytesOf(std::string_view text) {
  std::vector<TokenId> out;
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

}  // namespace inferflux::testing
