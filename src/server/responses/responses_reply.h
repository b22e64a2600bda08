// The reply to POST /v1/responses: an object whose output is a list of items, or the events that build it.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/reply/reply_surface.h"
#include "serving/generation/answer_parser.h"
#include "serving/generation/custom_input.h"

namespace inferflux::server {

class ResponsesReply final : public ReplySurface {
 public:
  // Takes the whole response once it has ended, successfully or not.
  using OnEnd = std::function<void(const boost::json::object& response)>;
  struct Shape {
    std::string id;
    std::string model;
    boost::json::object echo;  // the request's fields
    bool logprobs = false;
    std::vector<std::string> custom_tools;  // the names of tools whose input is a text
  };
  ResponsesReply(Shape shape, serving::AnswerParser parser, OnEnd on_end);

  net::Response Refusal(const ApiError& error) const override;
  net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) override;
  void Begin(std::string& out) override;
  void Append(size_t index, const scheduler::StreamEvent& event, std::string& out) override;
  void End(const ReplyTotals& totals, std::string& out) override;
  void Fail(const ApiError& error, std::string& out) override;

  // The response before anything was generated.
  boost::json::object Started(std::string_view status) const;

 private:
  enum class Open : uint8_t { kNone, kReasoning, kMessage, kCall };

  void Take(const scheduler::StreamEvent& event);
  void Enter(Open kind);
  void CloseReasoning();
  void CloseMessage();
  void CloseCall();
  void TakeCallPiece(const text::ToolCallPiece& piece);
  boost::json::object CallItem(std::string_view status) const;
  boost::json::object Part(std::string_view text, bool done) const;
  boost::json::object Item(std::string_view status) const;
  boost::json::object Finished(const scheduler::Usage& usage);
  void Emit(std::string_view type, boost::json::object fields);
  boost::json::object Place() const;

  const Shape shape_;
  serving::AnswerParser parser_;
  const OnEnd on_end_;
  const int64_t created_;
  std::string* events_ = nullptr;  // where events go; null: nowhere
  int64_t sequence_ = 0;
  boost::json::array output_;  // the items that are complete
  scheduler::FinishReason reason_ = scheduler::FinishReason::kStop;

  // The open item.
  Open open_ = Open::kNone;
  std::string item_id_;
  std::string text_;  // or a call's arguments
  std::string call_id_;
  std::string call_name_;
  std::optional<serving::CustomInput> input_;                              // of a call of a custom tool
  text::FoundToolCall::End call_end_ = text::FoundToolCall::End::kClosed;  // of the last call that ended
  boost::json::array logprobs_;
};

}  // namespace inferflux::server
