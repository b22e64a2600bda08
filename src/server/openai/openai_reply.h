// The envelope of OpenAI's replies: object, usage, and stream chunks that end with "[DONE]". Chat and plain completions
// fill in the choices.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "server/openai/reply_format.h"
#include "server/reply/reply_surface.h"

namespace inferflux::server {

class OpenAiReply final : public ReplySurface {
 public:
  struct Shape {
    std::string model;
    size_t choices = 1;  // across all prompts
    bool stream = false;
    bool include_usage = false;     // in a stream
    bool continuous_usage = false;  // in each chunk of it
    int32_t prompt_tokens = 0;
  };
  OpenAiReply(Shape shape, std::unique_ptr<ReplyFormat> format);

  net::Response Refusal(const ApiError& error) const override { return ErrorResponse(error); }
  net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) override;
  void Begin(std::string& out) override;
  void Append(size_t index, const scheduler::StreamEvent& event, std::string& out) override;
  void End(const ReplyTotals& totals, std::string& out) override;
  void Fail(const ApiError& error, std::string& out) override;

 private:
  boost::json::object Envelope(boost::json::array choices) const;
  void AppendChunk(boost::json::value choice, std::string& out) const;
  boost::json::value ChunkUsage() const;

  const Shape shape_;
  const std::unique_ptr<ReplyFormat> format_;
  const std::string id_;
  const int64_t created_;
  int32_t streamed_tokens_ = 0;
};

}  // namespace inferflux::server
