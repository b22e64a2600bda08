// A request that is ready to run: checked, with its model found and its prompts tokenised.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scheduler/generation.h"
#include "server/reply/reply_surface.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

struct Job {
  std::shared_ptr<const serving::ServedModel> model;
  std::vector<scheduler::GenerationRequest> requests;  // all choices of the first prompt, then of the next
  size_t choices_per_prompt = 1;
  bool stream = false;
  std::string prompt_param;  // the prompt's field name in errors
  std::unique_ptr<ReplySurface> surface;
};

}  // namespace inferflux::server
