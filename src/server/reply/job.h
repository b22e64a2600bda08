// A request that is ready to run: checked, with its model found and its prompts tokenised.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/generation.h"
#include "server/reply/reply_surface.h"
#include "server/request/access/api_keys.h"
#include "server/request/trace/request_trace.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

struct Job {
  std::shared_ptr<const serving::ServedModel> model;
  std::vector<scheduler::GenerationRequest> requests;  // all choices of the first prompt, then of the next
  size_t choices_per_prompt = 1;
  size_t kept_choices = 0;           // if not 0, only so many of a prompt's answers are sent: the likeliest ones
  std::vector<net::Header> headers;  // of the reply, beside the surface's own
  bool stream = false;
  std::string prompt_param;  // the prompt's field name in errors
  std::unique_ptr<ReplySurface> surface;
  std::shared_ptr<RequestTrace> trace;  // null: none
  std::optional<net::Response> ready;   // the whole reply to a request that generates nothing
};

// What all generations of a request have of it: its trace and its deadline.
void BindToCaller(const Caller& caller, std::vector<scheduler::GenerationRequest>& requests);
void BindToCaller(const Caller& caller, Job& job);

}  // namespace inferflux::server
