// Texts against grammars, without tokens.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "text/grammar/grammar_spec.h"
#include "text/grammar/automaton/pushdown.h"

namespace inferflux::text::testing {

inline std::shared_ptr<const CompiledGrammar> CompileOrFail(const GrammarSpec& spec) {
  auto compiled = CompileGrammar(spec);
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().message) << "\nin " << spec.source;
  return compiled ? *compiled : nullptr;
}

inline GrammarSpec Gbnf(std::string source) { return {.kind = GrammarSpec::Kind::kGbnf, .source = std::move(source)}; }
inline GrammarSpec Schema(std::string source) {
  return {.kind = GrammarSpec::Kind::kJsonSchema, .source = std::move(source)};
}
inline GrammarSpec Regex(std::string source) {
  return {.kind = GrammarSpec::Kind::kRegex, .source = std::move(source)};
}

inline bool Matches(const std::shared_ptr<const CompiledGrammar>& grammar, std::string_view text) {
  Pushdown run(grammar);
  ConfigId at = run.Start();
  for (const char c : text) at = run.Next(at, static_cast<uint8_t>(c));
  return run.CanEnd(at);
}

inline void ExpectMatches(const std::string& schema, std::initializer_list<const char*> valid,
                          std::initializer_list<const char*> invalid) {
  const auto grammar = CompileOrFail(Schema(schema));
  if (!grammar) return;
  for (const char* text : valid) EXPECT_TRUE(Matches(grammar, text)) << schema << "\nrefuses " << text;
  for (const char* text : invalid) EXPECT_FALSE(Matches(grammar, text)) << schema << "\ntakes " << text;
}

// What refuses the grammar; empty where nothing does.
inline std::string ErrorOf(const GrammarSpec& spec) {
  const auto compiled = CompileGrammar(spec);
  return compiled ? "" : compiled.error().message;
}

}  // namespace inferflux::text::testing
