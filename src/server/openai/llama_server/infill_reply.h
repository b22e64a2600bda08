// The reply to POST /infill, in the form of llama-server's own completions.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "server/reply/reply_surface.h"

namespace inferflux::server {

class InfillReply final : public ReplySurface {
 public:
  explicit InfillReply(std::string model) : model_(std::move(model)) {}

  net::Response Refusal(const ApiError& error) const override { return ErrorResponse(error); }
  net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) override;
  void Begin(std::string&) override {}
  void Append(size_t index, const scheduler::StreamEvent& event, std::string& out) override;
  void End(const ReplyTotals& totals, std::string& out) override;
  void Fail(const ApiError& error, std::string& out) override;

 private:
  boost::json::object Final(const std::string& content, const ReplyTotals& totals) const;

  const std::string model_;
  scheduler::Finish finish_;
};

}  // namespace inferflux::server
