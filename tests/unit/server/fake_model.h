// A model with scripted answers: a vocabulary of the 256 bytes, a plain template, and a scheduler that plays a script.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/families/tokenizers/tokenizer_traits.h"
#include "net/client.h"
#include "server/api_server.h"
#include "serving/pool/model_pool.h"
#include "text/grammar/grammar_compiler.h"
#include "text/tokenizer/algorithms/byte_alphabet.h"
#include "unicode/utf8.h"

namespace inferflux::testing {

using scheduler::FinishReason;
using scheduler::GenerationRequest;
using scheduler::StreamEvent;
using scheduler::TokenStream;

inline std::shared_ptr<const text::Tokenizer> ByteTokenizer() {
  text::VocabSpec vocab;
  vocab.model = "gpt2";
  vocab.pre_tokenizer = &model::FindPreTokenizer("gpt-2")->rules;
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    unicode::AppendUtf8(text::ByteToAlphabet(static_cast<uint8_t>(byte)), letter);
    vocab.tokens.push_back(letter);
  }
  vocab.tokens.push_back("<|end|>");
  vocab.kinds.assign(256, text::TokenKind::kNormal);
  vocab.kinds.push_back(text::TokenKind::kControl);
  vocab.eos = 256;
  auto tokenizer = text::Tokenizer::Create(std::move(vocab), {});
  EXPECT_TRUE(tokenizer.has_value()) << (tokenizer ? "" : tokenizer.error().message);
  return *tokenizer;
}

inline StreamEvent Piece(std::string text) {
  StreamEvent out;
  out.text = std::move(text);
  return out;
}

inline StreamEvent End(FinishReason reason, int32_t prompt_tokens, int32_t completion_tokens,
                       int32_t cached_tokens = 0) {
  StreamEvent out;
  out.finish = scheduler::Finish{reason, {}, {prompt_tokens, completion_tokens, cached_tokens}};
  return out;
}

// Plays `script` for each request on its own thread, like a scheduler thread.
class FakeScheduler final : public scheduler::GenerationService {
 public:
  using Script = std::function<void(const GenerationRequest&, TokenStream&)>;
  explicit FakeScheduler(Script script) : script_(std::move(script)) {}
  ~FakeScheduler() override {
    for (std::thread& thread : threads_) thread.join();
  }

  Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) override {
    if (refusal) return tl::make_unexpected(*refusal);
    auto stream = std::make_shared<TokenStream>();
    std::lock_guard lock(mutex_);
    requests_.push_back(request);
    threads_.emplace_back([this, stream, request = std::move(request)] { script_(request, *stream); });
    return stream;
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return figures; }
  const scheduler::RequestHistory* history() const override { return past.get(); }
  void Session(scheduler::SessionCommand command, scheduler::SessionReply reply) override {
    if (!sessions) return GenerationService::Session(std::move(command), std::move(reply));
    reply(sessions(command));
  }

  std::vector<GenerationRequest> requests() const {
    std::lock_guard lock(mutex_);
    return requests_;
  }

  // Set these before the first request.
  std::optional<Error> refusal;
  scheduler::SchedulerStats figures;
  std::unique_ptr<scheduler::RequestHistory> past;  // null: none is remembered
  std::function<Result<std::vector<scheduler::SessionInfo>>(const scheduler::SessionCommand&)> sessions;  // empty: none

 private:
  Script script_;
  mutable std::mutex mutex_;
  std::vector<GenerationRequest> requests_;
  std::vector<std::thread> threads_;
};

// An API server on one fake model, and a client.
class FakeServer {
 public:
  // `adjust` changes the model's description.
  explicit FakeServer(FakeScheduler::Script script, server::ApiKeys keys = {},
                      const std::function<void(serving::ServedModel&)>& adjust = {}, serving::PoolOptions options = {})
      : scheduler(std::make_shared<FakeScheduler>(std::move(script))), pool(factory, metrics, {}, std::move(options)) {
    auto model = std::make_shared<serving::ServedModel>();
    model->id = "fake";
    model->info.context = 1000;
    model->exposure.exposed_backend = "cpu";
    model->tokenizer = ByteTokenizer();
    model->grammars = std::make_shared<text::GrammarCompiler>(model->tokenizer);
    auto compiled = text::ChatTemplate::Compile(
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if tools %}[{{ tools|length }} tools]{% "
        "endif %}"
        "{% if messages[0].content == 'forbidden' %}{{ raise_exception('not allowed') }}{% endif %}>");
    EXPECT_TRUE(compiled.has_value()) << (compiled ? "" : compiled.error().message);
    model->chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
    model->scheduler = scheduler;
    if (adjust) adjust(*model);
    if (model->chat_template) model->tool_calls = text::ToolCallDialectOf(*model->chat_template, *model->tokenizer);
    EXPECT_TRUE(pool.Add(model).has_value());
    auto started = server::ApiServer::Start({}, pool, metrics, {.access = {.keys = std::move(keys), .sites = {}}});
    EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().message);
    server = std::move(*started);
    server->SetReady();
  }

  net::ClientResponse Post(const std::string& target, std::string body, std::string authorization = "") {
    return Send({"POST", target, {{"Authorization", std::move(authorization)}}, std::move(body)});
  }
  net::ClientResponse Post(const std::string& target, std::string body, std::vector<net::Header> headers) {
    return Send({"POST", target, std::move(headers), std::move(body)});
  }
  net::ClientResponse Get(const std::string& target, std::string authorization = "") {
    return Send({"GET", target, {{"Authorization", std::move(authorization)}}, {}});
  }
  net::ClientResponse Delete(const std::string& target, std::string body = "") {
    return Send({"DELETE", target, {}, std::move(body)});
  }
  boost::json::value PostJson(const std::string& target, std::string body) {
    return boost::json::parse(Post(target, std::move(body)).body);
  }

  std::shared_ptr<FakeScheduler> scheduler;
  metrics::Registry metrics;
  serving::BackendFactory factory{{}, {}};  // no engines: no further model can be loaded
  serving::ModelPool pool;
  std::unique_ptr<server::ApiServer> server;

 private:
  net::ClientResponse Send(const net::ClientRequest& request) {
    const auto response = net::Client(net::ServerAddress{"127.0.0.1", server->port(), ""}).Send(request);
    EXPECT_TRUE(response.has_value()) << (response ? "" : response.error().message);
    return response ? *response : net::ClientResponse();
  }
};

}  // namespace inferflux::testing
