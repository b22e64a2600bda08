// Turns the bodies of Ollama's /api/chat and /api/generate into jobs.
#pragma once

#include <optional>

#include "net/http_message.h"
#include "server/reply/job.h"
#include "server/request/services.h"

namespace inferflux::server {

// Changes how long the model stays loaded after its last request, if the caller may load models. Pinned models stay.
void KeepOllamaModel(const Services& services, const Caller& caller, const serving::ServedModel& model,
                     std::optional<double> seconds);

ApiResult<Job> PrepareOllamaChat(const Services& services, const net::Request& request, const Caller& caller);
ApiResult<Job> PrepareOllamaGenerate(const Services& services, const net::Request& request, const Caller& caller);

// Finds the model by the names that Ollama's clients use: with or without the tag ":latest".
ApiResult<std::shared_ptr<const serving::ServedModel>> FindOllamaModel(const Services& services, std::string name,
                                                                       std::span<const serving::Feature> needs);

}  // namespace inferflux::server
