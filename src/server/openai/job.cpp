#include "server/openai/job.h"

#include <utility>

#include "server/openai/chat_format.h"
#include "server/openai/completion_format.h"
#include "server/openai/completion_request.h"
#include "server/openai/prompt.h"
#include "server/openai/tool_calls.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"
#include "text/grammar/grammar_compiler.h"

namespace inferflux::server {
namespace {

using Requests = std::vector<scheduler::GenerationRequest>;

// What every generation asks of its model, and what this one does.
std::vector<serving::Feature> Needs(serving::Feature endpoint, const GenerationFields& fields, bool logprobs) {
  std::vector<serving::Feature> out = {endpoint};
  if (logprobs) out.push_back(serving::Feature::kLogprobs);
  if (fields.stream) out.push_back(serving::Feature::kStreaming);
  if (fields.grammar) out.push_back(serving::Feature::kStructuredOutput);
  return out;
}

Result<int32_t> RoomFor(const serving::ServedModel& model, size_t prompt_tokens) {
  const auto context = static_cast<size_t>(model.info.context);
  if (prompt_tokens < context) return static_cast<int32_t>(context - prompt_tokens);
  return Fail(ErrorCode::kInvalidArgument,
              "the prompt has {} tokens, but the model's context of {} leaves no room for an answer", prompt_tokens,
              context);
}

// The request's grammar over the model's tokens; null where it has none.
ApiResult<std::shared_ptr<const text::TokenGrammar>> GrammarOf(const GenerationFields& fields,
                                                               const serving::ServedModel& model) {
  if (!fields.grammar) return nullptr;
  auto compiled = model.grammars->Compile(*fields.grammar);
  if (!compiled) return Refuse(fields.grammar_param, "cannot be used: {}", compiled.error().message);
  return std::move(*compiled);
}

// One prompt's choices. `choice` numbers them over all prompts.
ApiStatus AddChoices(const GenerationFields& fields, const Caller& caller, const serving::ServedModel& model,
                     const std::vector<TokenId>& prompt, std::string_view param, std::optional<int64_t> top_logprobs,
                     Requests& out) {
  if (const auto room = RoomFor(model, prompt.size()); !room) {
    return RefuseAs("context_length_exceeded", param, room.error().message);
  }
  if (fields.speculation && fields.speculation->kind == scheduler::Speculation::Kind::kDraft &&
      model.info.draft.empty()) {
    return Refuse("speculative.type", "is \"draft\", but the model '{}' has no draft model", model.id);
  }
  const auto breakers = DryBreakers(fields, *model.tokenizer);
  const auto grammar = GrammarOf(fields, model);
  if (!grammar) return Forward(grammar);
  for (int64_t i = 0; i < fields.choices(); ++i) {
    auto request = ToGenerationRequest(fields, static_cast<int64_t>(out.size()), model.tokenizer->size());
    if (!request) return Forward(request);
    request->prompt = prompt;
    request->sampling.dry_breakers = breakers;
    request->grammar = *grammar;
    request->account = caller.account;
    request->cache_salt = caller.cache_salt;
    if (top_logprobs) request->top_logprobs = static_cast<int32_t>(*top_logprobs);
    out.push_back(std::move(*request));
  }
  return {};
}

Job MakeJob(const GenerationFields& fields, std::shared_ptr<const serving::ServedModel> model,
            std::string prompt_param) {
  Job out;
  out.model = std::move(model);
  out.choices_per_prompt = static_cast<size_t>(fields.choices());
  out.stream = fields.stream;
  out.include_usage = fields.include_usage;
  out.prompt_param = std::move(prompt_param);
  return out;
}

}  // namespace

ApiResult<Job> PrepareChat(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto chat = ParseChatRequest(*body);
  if (!chat) return Forward(chat);
  auto model = FindModel(services, chat->model, Needs(serving::Feature::kChat, *chat, chat->logprobs));
  if (!model) return Forward(model);

  Job out = MakeJob(*chat, std::move(*model), "messages");
  if (ApiStatus settled = ResolveToolCallForm(*out.model, *chat); !settled) return Forward(settled);
  const auto prompt = ChatPrompt(*out.model, *chat);
  if (!prompt) return Forward(prompt);
  std::optional<int64_t> top;
  if (chat->logprobs) top = chat->top_logprobs.value_or(0);
  if (ApiStatus added = AddChoices(*chat, caller, *out.model, *prompt, "messages", top, out.requests); !added) {
    return Forward(added);
  }
  if (!chat->tools.empty() && out.model->tool_calls) {
    for (auto& choice : out.requests) choice.shown_control = out.model->tool_calls->tokens.shown;
  }
  out.format = std::make_unique<ChatFormat>(ToolCallParsers(*out.model, *chat, out.requests.size()), chat->logprobs);
  return out;
}

ApiResult<Job> PrepareCompletion(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto completion = ParseCompletionRequest(*body);
  if (!completion) return Forward(completion);
  auto needs = Needs(serving::Feature::kCompletions, *completion, completion->logprobs.has_value());
  if (completion->prompt_alternatives()) needs.push_back(serving::Feature::kPromptLogprobs);
  auto model = FindModel(services, completion->model, needs);
  if (!model) return Forward(model);

  Job out = MakeJob(*completion, std::move(*model), "prompt");
  for (const RawPrompt& raw : completion->prompts) {
    const auto prompt = RawPromptTokens(*out.model, raw, "prompt");
    if (!prompt) return Forward(prompt);
    ApiStatus added =
        AddChoices(*completion, caller, *out.model, *prompt, "prompt", completion->logprobs, out.requests);
    if (!added) return Forward(added);
  }
  CompletionShape shape{completion->logprobs, completion->prompt_logprobs, completion->echo, {}};
  const auto alternatives = completion->prompt_alternatives();
  for (size_t i = 0; i < out.requests.size(); ++i) {
    scheduler::GenerationRequest& choice = out.requests[i];
    choice.continues_text = true;
    if (alternatives) choice.prompt_logprobs = static_cast<int32_t>(*alternatives);
    if (!completion->echo) continue;
    const RawPrompt& raw = completion->prompts[i / out.choices_per_prompt];
    const auto* text = std::get_if<std::string>(&raw);
    shape.prompts.push_back({text != nullptr ? *text : out.model->tokenizer->Decode(choice.prompt),
                             std::string(out.model->tokenizer->Bytes(choice.prompt.front()))});
  }
  out.format = std::make_unique<CompletionFormat>(out.requests.size(), std::move(shape));
  return out;
}

}  // namespace inferflux::server
