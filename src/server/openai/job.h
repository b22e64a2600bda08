// A request that is ready to run: checked, its model found, its prompts tokenised.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/http_message.h"
#include "scheduler/generation.h"
#include "server/openai/reply_format.h"
#include "server/request/api_error.h"
#include "server/request/services.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

struct Job {
  std::shared_ptr<const serving::ServedModel> model;
  std::vector<scheduler::GenerationRequest> requests;  // all choices of the first prompt, then of the next
  size_t choices_per_prompt = 1;
  bool stream = false;
  bool include_usage = false;
  std::string prompt_param;  // the field that errors about the prompt name
  std::unique_ptr<ReplyFormat> format;
};

ApiResult<Job> PrepareChat(const Services& services, const net::Request& request, const Caller& caller);
ApiResult<Job> PrepareCompletion(const Services& services, const net::Request& request, const Caller& caller);

}  // namespace inferflux::server
