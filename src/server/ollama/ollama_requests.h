// The parsed and checked bodies of POST /api/chat and /api/generate.
#pragma once

#include <vector>

#include <boost/json/object.hpp>
#include <string>

#include "server/ollama/ollama_fields.h"
#include "server/reply/field_rows.h"

namespace inferflux::server {

struct OllamaChatRequest : OllamaFields {};

// Without `raw`, the prompt becomes a chat.
struct OllamaGenerateRequest : OllamaFields {
  std::string prompt;
  std::string suffix;  // the answer goes between prompt and suffix
  std::string system;
  bool raw = false;
};

ApiResult<OllamaChatRequest> ParseOllamaChat(const boost::json::object& body);
ApiResult<OllamaGenerateRequest> ParseOllamaGenerate(const boost::json::object& body);

// Its fields, for the documentation.
std::vector<FieldRow> OllamaChatFieldRows();

// Its fields, for the documentation.
std::vector<FieldRow> OllamaGenerateFieldRows();

}  // namespace inferflux::server
