// Shared by the grammar harnesses: a walk through a grammar, as a model would take it.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "text/grammar/grammar_compiler.h"
#include "text/grammar/grammar_matcher.h"
#include "text/tokenizer/vocab_builders.h"

namespace inferflux::fuzz {

inline std::shared_ptr<const text::Tokenizer> SmallTokenizer() {
  text::VocabSpec spec = text::testing::ByteLevelSpec({});
  for (const char* word : {"true", "null", "\",\"", "{\"a\":", "}}", "[[", "aaaaaaaa", "00", "--"}) {
    text::testing::AddToken(spec, word);
  }
  spec.eos = text::testing::AddToken(spec, "<|end|>", text::TokenKind::kControl);
  spec.end_of_generation = {*spec.eos};
  return *text::Tokenizer::Create(std::move(spec), {});
}

// Compiles the grammar and accepts the tokens that `choices` select from the allowed ones. Returns the text if it is
// complete.
inline std::string WalkGrammar(const text::GrammarSpec& spec, std::string_view choices) {
  static const auto tokenizer = SmallTokenizer();
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  text::GrammarCompiler compiler(tokenizer);
  const auto grammar = compiler.Compile(spec);
  if (!grammar) {
    require(!grammar.error().message.empty());
    return {};
  }
  text::GrammarMatcher matcher(*grammar, true);
  std::string written;
  for (size_t step = 0; step < 64 && !matcher.must_end(); ++step) {
    const auto mask = matcher.Mask();
    if (!mask) {
      require(!mask.error().message.empty());
      return {};
    }
    TokenId chosen = step < choices.size() ? static_cast<unsigned char>(choices[step]) : 0;
    for (TokenId tried = 0; tried < tokenizer->size(); ++tried) {
      const TokenId id = (chosen + tried) % tokenizer->size();
      if (tokenizer->IsEndOfGeneration(id) || !(*mask)->Allows(id)) continue;
      chosen = id;
      break;
    }
    text::GrammarMatcher ahead = matcher;
    // The whole text may have too many parses even if none of its parts has.
    const auto fits = [&](text::GrammarMatcher& at, TokenId id) {
      const auto taken = at.Accept(id);
      return taken.has_value() || taken.error().message.find("too ambiguous") != std::string::npos;
    };
    if ((*mask)->Allows(chosen)) {
      require(tokenizer->IsEndOfGeneration(chosen) || fits(ahead, chosen));
    } else {
      require(matcher.can_end() && !ahead.Accept(chosen));
      break;
    }
    const TokenId other = (chosen * 7 + 3) % tokenizer->size();
    text::GrammarMatcher another = matcher;
    require(tokenizer->IsEndOfGeneration(other) || fits(another, other) == (*mask)->Allows(other) ||
            !another.Mask().has_value());
    matcher = ahead;
    written += tokenizer->Bytes(chosen);
  }
  return matcher.can_end() ? written : "";
}

}  // namespace inferflux::fuzz
