// Errors in the format of Ollama's API: {"error": "message"}.
#pragma once

#include <string>

#include "server/request/api_error.h"

namespace inferflux::server {

std::string OllamaErrorJson(const ApiError& error);
net::Response OllamaErrorResponse(const ApiError& error);

// Prefixes the error with this API's name of its field.
ApiError FromOllamaGeneration(serving::GenerationError error, std::string_view prompt);

}  // namespace inferflux::server
