// The ChatAdapter for a model behind an OpenAI-compatible server: programs with this adapter use that model, unless
// they have one of their own.
#pragma once

#include <memory>

#include "dspy/adapters/chat_adapter.h"
#include "dspy_http/http_config.h"

namespace inferflux::dspy {

class HttpAdapter final : public ChatAdapter {
 public:
  // kInvalidConfig names a setting that is wrong. Does not connect.
  static Result<std::shared_ptr<HttpAdapter>> Connect(const HttpConfig& config);

  std::string_view name() const override { return "HttpAdapter"; }
  CallSettings defaults() const override { return call_; }
  std::shared_ptr<LM> lm() const override { return lm_; }

 private:
  HttpAdapter(CallSettings call, std::shared_ptr<LM> lm) : call_(std::move(call)), lm_(std::move(lm)) {}

  CallSettings call_;
  std::shared_ptr<LM> lm_;
};

}  // namespace inferflux::dspy
