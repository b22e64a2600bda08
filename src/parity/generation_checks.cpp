#include "parity/check_list.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "parity/compare.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/grammar_compiler.h"

namespace inferflux::parity {
namespace {

using scheduler::FinishReason;
using scheduler::GenerationRequest;

constexpr auto kPatience = std::chrono::seconds(120);

struct Received {
  std::string text;
  std::vector<TokenId> tokens;  // without the end token
  scheduler::Finish finish;
};

// Blocks the calling thread until events arrive.
class Reader {
 public:
  explicit Reader(std::shared_ptr<scheduler::TokenStream> stream) : stream_(std::move(stream)) {
    stream_->SetNotify([this] {
      const std::lock_guard lock(mutex_);
      news_ = true;
      arrived_.notify_one();
    });
  }
  ~Reader() { stream_->SetNotify({}); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // False if nothing has arrived for too long.
  bool TakeOne(Received& received) {
    while (true) {
      if (auto event = stream_->TryPop()) {
        received.text += event->text;
        for (const auto& token : event->tokens) received.tokens.push_back(token.chosen.id);
        if (event->finish) {
          received.finish = *event->finish;
          done_ = true;
        }
        return true;
      }
      std::unique_lock lock(mutex_);
      if (!arrived_.wait_for(lock, kPatience, [&] { return news_; })) return false;
      news_ = false;
    }
  }
  bool done() const { return done_; }
  void Cancel() { stream_->Cancel(); }

 private:
  std::shared_ptr<scheduler::TokenStream> stream_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  bool news_ = false;
  bool done_ = false;
};

GenerationRequest Greedy(const Answer& answer) {
  return {.prompt = answer.prompt,
          .sampling = {.temperature = 0.0f},
          .max_tokens = static_cast<int32_t>(answer.tokens.size())};
}

Result<std::unique_ptr<Reader>> Start(const Generations& subject, GenerationRequest request) {
  auto stream = subject.scheduler.Submit(std::move(request));
  if (!stream) return Forward(stream);
  return std::make_unique<Reader>(std::move(*stream));
}

Result<Received> ReadAll(Reader& reader) {
  Received received;
  while (!reader.done()) {
    if (!reader.TakeOne(received)) return Fail(ErrorCode::kUnavailable, "a generation has stopped making progress");
  }
  if (received.finish.reason == FinishReason::kError) return tl::make_unexpected(received.finish.error);
  return received;
}

Result<Received> Generate(const Generations& subject, GenerationRequest request) {
  auto reader = Start(subject, std::move(request));
  if (!reader) return Forward(reader);
  return ReadAll(**reader);
}

bool Matches(const text::TokenGrammar& grammar, std::string_view text) {
  text::Pushdown run(grammar.grammar());
  text::ConfigId at = run.Start();
  for (const char c : text) at = run.Next(at, static_cast<uint8_t>(c));
  return run.CanEnd(at);
}

}  // namespace

// All prompts at the same time, twice each: the same text as alone, up to near ties.
Finding CheckCrowd(const Generations& subject) {
  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<const Answer*> answers;
  for (int copy = 0; copy < 2; ++copy) {
    for (const Answer& answer : subject.oracle.answers) {
      auto request = Greedy(answer);
      request.top_logprobs = 0;  // tokens one by one
      auto reader = Start(subject, std::move(request));
      if (!reader) return Forward(reader);
      readers.push_back(std::move(*reader));
      answers.push_back(&answer);
    }
  }
  GreedyComparison comparison(subject.bounds.tie);
  for (size_t i = 0; i < readers.size(); ++i) {
    auto received = ReadAll(*readers[i]);
    if (!received) return Forward(received);
    Answer expected = *answers[i];
    // The end token ends the text and is not reported.
    if (received->finish.reason == FinishReason::kStop && received->tokens.size() + 1 == expected.tokens.size()) {
      received->tokens.push_back(expected.tokens.back());
    }
    comparison.Add(expected, received->tokens);
  }
  auto finding = comparison.finding();
  if (!finding) return finding;
  return fmt::format("{} requests, {}", readers.size(), *finding);
}

// Uses the end of a generated text as a stop string of the next generation, which must stop before it.
Finding CheckStops(const Generations& subject) {
  const auto whole = Generate(subject, Greedy(subject.oracle.answers[0]));
  if (!whole) return Forward(whole);
  if (whole->text.size() < 2)
    return Fail(ErrorCode::kInternal, "a text of {} bytes cannot be split", whole->text.size());
  size_t half = whole->text.size() / 2;
  while (half > 0 && (static_cast<unsigned char>(whole->text[half]) & 0xC0) == 0x80) --half;  // between two characters
  const std::string stop = whole->text.substr(half);
  const std::string expected = whole->text.substr(0, whole->text.find(stop));
  auto request = Greedy(subject.oracle.answers[0]);
  request.stop = {stop};
  const auto stopped = Generate(subject, std::move(request));
  if (!stopped) return Forward(stopped);
  if (stopped->text != expected || stopped->finish.reason != FinishReason::kStop) {
    return Fail(ErrorCode::kInternal, "with the stop string '{}' the text was '{}', not '{}'", stop, stopped->text,
                expected);
  }
  return fmt::format("{} of {} bytes", expected.size(), whole->text.size());
}

Finding CheckLength(const Generations& subject) {
  constexpr int32_t kTokens = 9;
  GenerationRequest request = Greedy(subject.oracle.answers[1]);
  request.max_tokens = kTokens;
  request.ignore_eos = true;
  const auto received = Generate(subject, std::move(request));
  if (!received) return Forward(received);
  if (received->finish.reason != FinishReason::kLength || received->finish.usage.completion_tokens != kTokens) {
    return Fail(ErrorCode::kInternal, "{} tokens were requested, and {} came", kTokens,
                received->finish.usage.completion_tokens);
  }
  return fmt::format("{} tokens, past the end token", kTokens);
}

// The client disconnects in the middle: the sequence ends, and its memory is freed.
Finding CheckCancellation(const Generations& subject) {
  GenerationRequest request = Greedy(subject.oracle.answers[2]);
  request.max_tokens = 0;  // as many as fit: a small model generates some before it gets the cancellation
  request.ignore_eos = true;
  request.top_logprobs = 0;  // one event for each token
  auto reader = Start(subject, std::move(request));
  if (!reader) return Forward(reader);
  Received received;
  if (!(*reader)->TakeOne(received)) return Fail(ErrorCode::kUnavailable, "no token came");
  (*reader)->Cancel();
  while (!(*reader)->done()) {
    if (!(*reader)->TakeOne(received)) return Fail(ErrorCode::kUnavailable, "a cancelled generation does not end");
  }
  if (received.finish.reason != FinishReason::kCancelled) {
    return Fail(ErrorCode::kInternal, "a cancelled generation ended for another reason");
  }
  // The last event arrives before the step ends, and the step then publishes the free blocks.
  if (auto after = Generate(subject, Greedy(subject.oracle.answers[0])); !after) return Forward(after);
  const auto stats = subject.scheduler.stats();
  if (stats.running > 1 || stats.queued != 0) {
    return Fail(ErrorCode::kInternal, "{} sequences still run after all have ended", stats.running);
  }
  return fmt::format("after {} tokens", received.finish.usage.completion_tokens);
}

// Sampled at high temperature and greedily, under each kind of grammar: the text matches, and ends where it is
// complete.
Finding CheckGrammars(const Generations& subject) {
  using Kind = text::GrammarSpec::Kind;
  const text::GrammarSpec specs[] = {
      {.kind = Kind::kJsonSchema,
       .source = R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},"age":{"type":"integer",
                     "minimum":0,"maximum":150}},"required":["name","age"]})"},
      {.kind = Kind::kRegex, .source = "[a-z]{2,8}( [a-z]{2,8}){1,3}\\."},
      {.kind = Kind::kChoice, .choices = {"yes", "no", "perhaps"}},
      {.kind = Kind::kGbnf, .source = "root ::= n ([+*] n){1,3}\nn ::= [1-9] [0-9]{0,3}"},
  };
  text::GrammarCompiler compiler(subject.tokenizer);
  int texts = 0;
  for (const auto& spec : specs) {
    const auto grammar = compiler.Compile(spec);
    if (!grammar) return Forward(grammar);
    for (const float temperature : {0.0f, 1.0f, 2.0f}) {
      const GenerationRequest request{.prompt = subject.oracle.answers[0].prompt,
                                      .sampling = {.temperature = temperature, .seed = 7},
                                      .max_tokens = 128,
                                      .grammar = *grammar};
      const auto received = Generate(subject, request);
      if (!received) return Forward(received);
      if (received->finish.reason != FinishReason::kStop || !Matches(**grammar, received->text)) {
        return Fail(ErrorCode::kInternal, "at temperature {} '{}' does not match '{}'", temperature, received->text,
                    spec.source);
      }
      ++texts;
    }
  }
  return fmt::format("{} texts", texts);
}

}  // namespace inferflux::parity
