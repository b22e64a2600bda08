// inferctl tokenize: converts a text to the ids of a model's vocabulary, or back; by a model's file, or by a server.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"
#include "model/loading/read_vocab.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct TokenizeFlags {
  std::string model;
  std::vector<std::string> words;  // a text, or ids
  bool decode = false;
};

using Ids = std::vector<TokenId>;

// "1 15043", "1,15043" or "[1, 15043]".
Result<Ids> ParseIds(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  Ids out;
  for (size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;
       at = text.find_first_not_of(kBetween, at)) {
    const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    TokenId id = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || rest != word.data() + word.size())
      return Fail(ErrorCode::kInvalidArgument, "'{}' is no token id: write integers", word.substr(0, 64));
    out.push_back(id);
    at = end;
  }
  return out;
}

// Where a vocabulary is: in a file, or in a server's model.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  virtual Result<Ids> Encode(const std::string& text) = 0;
  virtual Result<std::string> Decode(const Ids& ids) = 0;
};

class FileVocabulary final : public Vocabulary {
 public:
  static Result<std::unique_ptr<Vocabulary>> Open(const std::string& path) {
    auto specs = model::ReadVocab(path);
    if (!specs) return Forward(specs);
    auto tokenizer = text::Tokenizer::Create(std::move(specs->vocab), std::move(specs->merges));
    if (!tokenizer) return Forward(tokenizer, path);
    return std::unique_ptr<Vocabulary>(new FileVocabulary(path, std::move(*tokenizer)));
  }

  Result<Ids> Encode(const std::string& text) override { return tokenizer_->Encode(text); }
  Result<std::string> Decode(const Ids& ids) override {
    const auto size = int64_t{tokenizer_->size()};
    for (const TokenId id : ids) {
      if (id < 0 || id >= size)
        return Fail(ErrorCode::kInvalidArgument, "{} has no token {}: ids are from 0 to {}", path_, id, size - 1);
    }
    return tokenizer_->Decode(ids);
  }

 private:
  FileVocabulary(std::string path, std::shared_ptr<const text::Tokenizer> tokenizer)
      : path_(std::move(path)), tokenizer_(std::move(tokenizer)) {}

  std::string path_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

// llama-server's endpoints.
class ServerVocabulary final : public Vocabulary {
 public:
  ServerVocabulary(ApiClient client, std::string model) : client_(std::move(client)), model_(std::move(model)) {}

  Result<Ids> Encode(const std::string& text) override {
    const auto answer = client_.Post("/tokenize", {{"model", model_}, {"content", text}});
    if (!answer) return Forward(answer);
    const json::value* tokens = answer->is_object() ? answer->get_object().if_contains("tokens") : nullptr;
    if (tokens == nullptr || !tokens->is_array()) return Fail(ErrorCode::kDataLoss, "the server answered no tokens");
    Ids out;
    for (const json::value& token : tokens->get_array()) {
      if (token.is_int64()) out.push_back(static_cast<TokenId>(token.get_int64()));
    }
    return out;
  }
  Result<std::string> Decode(const Ids& ids) override {
    const json::array tokens(ids.begin(), ids.end());
    const auto answer = client_.Post("/detokenize", {{"model", model_}, {"tokens", tokens}});
    if (!answer) return Forward(answer);
    const json::value* text = answer->is_object() ? answer->get_object().if_contains("content") : nullptr;
    if (text == nullptr || !text->is_string()) return Fail(ErrorCode::kDataLoss, "the server answered no text");
    return std::string(text->get_string());
  }

 private:
  ApiClient client_;
  std::string model_;
};

Result<std::unique_ptr<Vocabulary>> VocabularyOf(const CommandContext& context, const std::string& model) {
  if (!context.url_is_flag) return FileVocabulary::Open(model);
  auto client = ApiClient::Create(context.settings);
  if (!client) return Forward(client);
  return std::unique_ptr<Vocabulary>(new ServerVocabulary(std::move(*client), model));
}

int RunTokenize(const CommandContext& context, const TokenizeFlags& flags) {
  const auto vocabulary = VocabularyOf(context, flags.model);
  if (!vocabulary) return Complain(vocabulary.error());
  const auto text = TextOf(flags.words.empty() ? "-" : fmt::format("{}", fmt::join(flags.words, " ")));
  if (!text) return Complain(text.error());
  if (!flags.decode) {
    const auto ids = (*vocabulary)->Encode(*text);
    if (!ids) return Complain(ids.error());
    if (context.json) return PrintJson(json::object{{"tokens", json::array(ids->begin(), ids->end())}});
    fmt::print("{}\n", fmt::join(*ids, " "));
    return kOk;
  }
  const auto ids = ParseIds(*text);
  if (!ids) return Complain(ids.error().message, kUsageError);
  const auto decoded = (*vocabulary)->Decode(*ids);
  if (!decoded) return Complain(decoded.error());
  if (context.json) return PrintJson(json::object{{"text", *decoded}});
  std::fwrite(decoded->data(), 1, decoded->size(), stdout);
  return std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0 ? kOk
                                                                     : Complain("cannot write to standard output");
}

}  // namespace

Run AddTokenize(Command& app) {
  auto flags = std::make_shared<TokenizeFlags>();
  Command tokenize = app.AddCommand(
      "tokenize", "print the token ids of a text, on one line, nothing added; or with --decode the text of ids");
  tokenize
      .Add("MODEL", flags->model,
           "GGUF file (the vocabulary is enough) or Hugging Face directory; with --url, a model of that server")
      .Required();
  tokenize.Add("TEXT", flags->words, "the text, or the ids; without it, or with '-', standard input is read");
  tokenize.AddFlag("-d,--decode", flags->decode, "convert ids to their text");
  return [flags](const CommandContext& context) { return RunTokenize(context, *flags); };
}

}  // namespace inferflux::apps
