#include "server/openai/next_tokens/next_tokens.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "server/openai/chat_request.h"
#include "server/openai/completion_request.h"
#include "server/openai/next_tokens/next_tokens_reply.h"
#include "server/request/fields.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"
#include "serving/generation/build_generation.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kAnyPrefix = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr int32_t kMostTop = 20;

struct NextTokensFields {
  std::string prefix;  // what the answer begins with
  std::optional<int64_t> top;
};

constexpr Field<NextTokensFields> kNextTokensFields[] = {
    {"prefix", TextField<NextTokensFields>{&NextTokensFields::prefix, kAnyPrefix}},
    {"top", IntegerField<NextTokensFields>{&NextTokensFields::top, 1, kMostTop}},
};

// The prompt, in the fields of the endpoint that would generate.
struct Built {
  std::shared_ptr<const serving::ServedModel> model;
  serving::Generation generation;
  std::string prompt_param;
};

ApiStatus CheckAlone(const GenerationFields& fields) {
  if (fields.stream) return Refuse("stream", "must be false: there is one answer");
  if (fields.choices > 1) return Refuse("n", "must be 1: what may come next is the same for every choice");
  if (!fields.session_id.empty()) return Refuse("session_id", "goes with generations only");
  return {};
}

void SetTenant(const Caller& caller, GenerationFields& fields) {
  fields.request_id = caller.request_id;
  fields.account = caller.client();
  fields.account_limits = caller.account_limits;
  fields.cache_salt = JoinedSalt(caller.cache_salt, fields.prompt_cache_key);
}

ApiResult<Built> BuildFromChat(const Services& services, const json::object& body, const Caller& caller) {
  auto chat = ParseChatRequest(body);
  if (!chat) return Forward(chat);
  if (ApiStatus alone = CheckAlone(*chat); !alone) return Forward(alone);
  auto model = FindModel(services, chat->model, serving::Needs(serving::Feature::kChat, *chat, false), chat->timeout);
  if (!model) return Forward(model);
  SetTenant(caller, *chat);
  auto built = serving::BuildChat(**model, std::move(chat->chat), *chat);
  if (!built) return tl::make_unexpected(FromGeneration(std::move(built.error()), *chat, "messages"));
  return Built{std::move(*model), std::move(*built), "messages"};
}

ApiResult<Built> BuildFromPrompt(const Services& services, const json::object& body, const Caller& caller) {
  auto completion = ParseCompletionRequest(body);
  if (!completion) return Forward(completion);
  if (ApiStatus alone = CheckAlone(*completion); !alone) return Forward(alone);
  if (completion->prompts.size() > 1) return Refuse("prompt", "must be one prompt");
  if (!completion->suffix.empty()) return Refuse("suffix", "goes with generations only");
  auto model = FindModel(services, completion->model,
                         serving::Needs(serving::Feature::kCompletions, *completion, false), completion->timeout);
  if (!model) return Forward(model);
  SetTenant(caller, *completion);
  auto built = serving::BuildCompletion(**model, completion->prompts, *completion);
  if (!built) return tl::make_unexpected(FromGeneration(std::move(built.error()), *completion, "prompt"));
  return Built{std::move(*model), std::move(*built), "prompt"};
}

// Turns the request for an answer into one for the tokens after its prefix.
void AskNext(const serving::ServedModel& model, const NextTokensFields& fields, scheduler::GenerationRequest& request) {
  const std::vector<TokenId> output =
      fields.prefix.empty() ? std::vector<TokenId>() : model.tokenizer->Encode(fields.prefix);
  request.prompt.insert(request.prompt.end(), output.begin(), output.end());
  request.next_tokens = scheduler::NextTokensQuery{.output_tokens = static_cast<int32_t>(output.size()),
                                                   .top = static_cast<int32_t>(fields.top.value_or(kMostTop))};
  // The prefix was tokenised as a text of its own, whose first space may come from the tokenizer.
  if (!output.empty()) request.continues_text = false;
  request.max_tokens = 1;
  request.stop.clear();
  request.top_logprobs.reset();
  request.prompt_logprobs.reset();
}

}  // namespace

ApiResult<Job> PrepareNextTokens(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  NextTokensFields fields;
  json::object rest;
  for (const auto& [key, value] : *body) {
    const ApiResult<bool> taken = ParseField<NextTokensFields>(kNextTokensFields, key, key, value, fields);
    if (!taken) return Forward(taken);
    if (!*taken && !value.is_null()) rest[key] = value;
  }
  if (!rest.contains("messages") && !rest.contains("prompt")) {
    return RefuseAs("missing_required_parameter", "messages", "'messages' or 'prompt' is missing");
  }
  auto built =
      rest.contains("messages") ? BuildFromChat(services, rest, caller) : BuildFromPrompt(services, rest, caller);
  if (!built) return Forward(built);
  Job out{.model = std::move(built->model),
          .requests = std::move(built->generation.requests),
          .prompt_param = std::move(built->prompt_param)};
  AskNext(*out.model, fields, out.requests.front());
  out.surface = std::make_unique<NextTokensReply>(out.model->id);
  return out;
}

std::vector<FieldRow> NextTokensFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<NextTokensFields>(kNextTokensFields, out);
  return out;
}

}  // namespace inferflux::server
