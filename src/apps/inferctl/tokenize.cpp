// inferctl tokenize: converts a text to the ids of a model's vocabulary.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "apps/inferctl/command.h"
#include "model/loading/read_vocab.h"
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

Run AddTokenize(Command& app) {
  auto path = std::make_shared<std::string>();
  Command tokenize = app.AddCommand(
      "tokenize", "print the token ids of the text on standard input, on one line, nothing added; needs no server");
  tokenize.Add("MODEL", *path, "GGUF file (the vocabulary is enough) or Hugging Face directory").Required();
  return [path](const CommandContext&) { return RunTokenize(*path); };
}

}  // namespace inferflux::apps
