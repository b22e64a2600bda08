// The replies to Ollama's /api/chat and /api/generate: one JSON object, or a stream of them, one in each line.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "server/reply/reply_surface.h"
#include "serving/generation/answer_parser.h"

namespace inferflux::server {

class OllamaReply final : public ReplySurface {
 public:
  enum class Kind : uint8_t { kChat, kGenerate };
  struct Shape {
    Kind kind = Kind::kChat;
    std::string model;  // as the request named it
    bool logprobs = false;
  };
  OllamaReply(Shape shape, serving::AnswerParser parser);

  net::Response Refusal(const ApiError& error) const override;
  net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) override;
  net::Response Head() const override;
  void Begin(std::string& out) override;
  void Append(size_t index, const scheduler::StreamEvent& event, std::string& out) override;
  void End(const ReplyTotals& totals, std::string& out) override;
  void Fail(const ApiError& error, std::string& out) override;

 private:
  using Clock = std::chrono::steady_clock;

  serving::AnswerParser::Output Parse(const scheduler::StreamEvent& event);
  boost::json::object Piece(const serving::AnswerParser::Output& parsed, const scheduler::StreamEvent* event);
  void AddEnd(const scheduler::Usage& usage, boost::json::object& out) const;

  const Shape shape_;
  serving::AnswerParser parser_;
  size_t calls_ = 0;  // sent so far
  const Clock::time_point began_ = Clock::now();
  std::optional<Clock::time_point> first_;  // when the first text came
  scheduler::FinishReason reason_ = scheduler::FinishReason::kStop;
};

// The reply to a request without a prompt, which only loads or unloads a model.
net::Response OllamaLoadReply(OllamaReply::Kind kind, const std::string& model, bool unload);

// "2024-07-26T12:30:00.000000Z"
std::string OllamaTime(std::chrono::system_clock::time_point time);

}  // namespace inferflux::server
