#include "server/field_tables.h"

#include <string_view>
#include <vector>

#include "server/anthropic/messages_request.h"
#include "server/batches/batch_endpoints.h"
#include "server/ollama/create_model.h"
#include "server/ollama/ollama_embed.h"
#include "server/ollama/ollama_requests.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_request.h"
#include "server/openai/embeddings/embedding_request.h"
#include "server/openai/fields/generation_fields.h"
#include "server/openai/llama_server/infill.h"
#include "server/openai/llama_server/tokenize_endpoints.h"
#include "server/openai/next_tokens/next_tokens.h"
#include "server/openai/rerank/rerank_request.h"
#include "server/reply/field_rows.h"
#include "server/responses/responses_request.h"

namespace inferflux::server {
namespace {

std::vector<FieldRow> SharedRows() {
  std::vector<FieldRow> out;
  AppendRows<GenerationFields>(GenerationFieldTable(), out);
  return out;
}

std::vector<FieldRow> OllamaSharedRows() {
  std::vector<FieldRow> out;
  AppendRows<OllamaFields>(OllamaFieldTable(), out);
  AppendRows<OllamaFields>(OllamaOptionTable(), out, "options");
  return out;
}

struct Endpoint {
  std::string_view title;
  std::vector<FieldRow> (*rows)();
};

constexpr Endpoint kEndpoints[] = {
    {"Chat and raw completions, and `/infill`", SharedRows},
    {"`/v1/chat/completions`", ChatFieldRows},
    {"`/v1/completions`", CompletionFieldRows},
    {"`/v1/embeddings`", EmbeddingFieldRows},
    {"`/v1/next_tokens`, besides those of chat or raw completions", NextTokensFieldRows},
    {"`/v1/rerank`", RerankFieldRows},
    {"`/score`", ScoreFieldRows},
    {"`/classify`", ClassifyFieldRows},
    {"`/v1/responses`", ResponsesFieldRows},
    {"`/v1/batches`", BatchFieldRows},
    {"`/v1/messages`", MessagesFieldRows},
    {"Ollama's chat and generate", OllamaSharedRows},
    {"`/api/chat`", OllamaChatFieldRows},
    {"`/api/generate`", OllamaGenerateFieldRows},
    {"`/api/embed`", OllamaEmbedFieldRows},
    {"`/api/create`", CreateModelFieldRows},
    {"`/tokenize`", TokenizeFieldRows},
    {"`/infill`", InfillFieldRows},
};

}  // namespace

std::string FieldTablesMarkdown() {
  std::string out;
  for (const Endpoint& endpoint : kEndpoints) {
    out += fmt::format("| {} | | |\n|---|---|---|\n", endpoint.title);
    for (const FieldRow& row : endpoint.rows()) {
      out += fmt::format("| `{}` | {} | {} |\n", row.field, row.verdict, row.detail);
    }
    out += '\n';
  }
  return out;
}

}  // namespace inferflux::server
