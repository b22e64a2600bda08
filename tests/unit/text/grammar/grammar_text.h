// Matches texts against grammars, without tokens.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/grammar_spec.h"

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

// A random text that the grammar matches. At each possible end, it ends with a probability of one half.
inline std::string RandomText(const std::shared_ptr<const CompiledGrammar>& grammar, std::mt19937& random) {
  Pushdown run(grammar);
  ConfigId at = run.Start();
  std::string out;
  while (!run.CanEnd(at) || (run.CanGoOn(at) && random() % 2 == 0)) {
    std::vector<std::pair<char, ConfigId>> ways;
    for (int byte = 0; byte < 256; ++byte) {
      const ConfigId to = run.Next(at, static_cast<uint8_t>(byte));
      if (to != Pushdown::kDead) ways.emplace_back(static_cast<char>(byte), to);
    }
    if (ways.empty()) return out;
    const auto& [byte, to] = ways[random() % ways.size()];
    out += byte;
    at = to;
  }
  return out;
}

inline void ExpectMatches(const std::string& schema, std::initializer_list<const char*> valid,
                          std::initializer_list<const char*> invalid) {
  const auto grammar = CompileOrFail(Schema(schema));
  if (!grammar) return;
  for (const char* text : valid) EXPECT_TRUE(Matches(grammar, text)) << schema << "\nrefuses " << text;
  for (const char* text : invalid) EXPECT_FALSE(Matches(grammar, text)) << schema << "\ntakes " << text;
}

// The error for the grammar; empty if there is none.
inline std::string ErrorOf(const GrammarSpec& spec) {
  const auto compiled = CompileGrammar(spec);
  return compiled ? "" : compiled.error().message;
}

}  // namespace inferflux::text::testing
