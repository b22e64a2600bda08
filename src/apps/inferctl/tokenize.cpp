// inferctl tokenize: a text as the ids of a model's vocabulary.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "apps/inferctl/command.h"
#include "model/read_vocab.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::apps {
namespace {

int RunTokenize(const std::string& path) {
  auto specs = model::ReadVocab(path);
  if (!specs) return Complain(specs.error());
  const auto tokenizer = text::Tokenizer::Create(std::move(specs->vocab), std::move(specs->merges));
  if (!tokenizer) return Complain(path + ": " + tokenizer.error().message);
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  fmt::print("{}\n", fmt::join((*tokenizer)->Encode(text), " "));
  return kOk;
}

}  // namespace

Run AddTokenize(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  CLI::App* tokenize = app.add_subcommand(
      "tokenize", "print the token ids of the text on standard input, on one line, nothing added; needs no server");
  tokenize->add_option("MODEL", *path, "GGUF file, one with the vocabulary alone will do, or a Hugging Face directory")->required();
  return [path](const CommandContext&) { return RunTokenize(*path); };
}

}  // namespace inferflux::apps
