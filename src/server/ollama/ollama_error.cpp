#include "server/ollama/ollama_error.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

namespace inferflux::server {

std::string OllamaErrorJson(const ApiError& error) {
  boost::json::object out;
  out["error"] = error.message;
  return boost::json::serialize(out);
}

net::Response OllamaErrorResponse(const ApiError& error) {
  net::Response out = ErrorResponse(error);  // keeps the headers; the body is this API's
  out.body = OllamaErrorJson(error);
  return out;
}

ApiError FromOllamaGeneration(serving::GenerationError error, std::string_view prompt) {
  using Field = serving::GenerationError::Field;
  const auto name = [&]() -> std::string {
    switch (error.field) {
      case Field::kModel:
        return "model";
      case Field::kPrompt:
        return std::string(prompt);
      case Field::kGrammar:
        return "format";
      case Field::kReasoning:
        return "think";
      case Field::kLogitBias:
        return "options.logit_bias";
      case Field::kTools:
      case Field::kToolChoice:
      case Field::kParallelCalls:
        return "tools";
      case Field::kStrictTool:
        return fmt::format("tools[{}]", error.index);
      case Field::kLogprobs:
        return "top_logprobs";
      case Field::kSpeculation:
      case Field::kPromptLogprobs:
        break;  // this API has no such fields
    }
    return {};
  };
  return FromGeneration(std::move(error), name());
}

}  // namespace inferflux::server
