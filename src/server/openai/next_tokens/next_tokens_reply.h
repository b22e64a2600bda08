// The reply to POST /v1/next_tokens.
#pragma once

#include <string>
#include <vector>

#include "server/reply/reply_surface.h"

namespace inferflux::server {

// It is never streamed: there is one answer.
class NextTokensReply final : public ReplySurface {
 public:
  explicit NextTokensReply(std::string model) : model_(std::move(model)) {}

  net::Response Refusal(const ApiError& error) const override;
  net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) override;
  void Begin(std::string&) override {}
  void Append(size_t, const scheduler::StreamEvent&, std::string&) override {}
  void End(const ReplyTotals&, std::string&) override {}
  void Fail(const ApiError&, std::string&) override {}

 private:
  const std::string model_;
};

}  // namespace inferflux::server
