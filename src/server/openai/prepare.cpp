#include "server/openai/prepare.h"

#include <utility>

#include "server/openai/chat_format.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_format.h"
#include "server/openai/completion_request.h"
#include "server/openai/openai_reply.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"
#include "serving/generation/build_generation.h"

namespace inferflux::server {
namespace {

void SetCaller(const Caller& caller, serving::GenerationSpec& spec) {
  spec.account = caller.account;
  spec.cache_salt = caller.cache_salt;
}

Job MakeJob(const GenerationFields& fields, std::shared_ptr<const serving::ServedModel> model,
            std::string prompt_param) {
  Job out;
  out.model = std::move(model);
  out.choices_per_prompt = static_cast<size_t>(fields.choices);
  out.stream = fields.stream;
  out.prompt_param = std::move(prompt_param);
  return out;
}

void SetSurface(const GenerationFields& fields, std::unique_ptr<ReplyFormat> format, Job& out) {
  out.surface = std::make_unique<OpenAiReply>(
      OpenAiReply::Shape{out.model->id, out.requests.size(), fields.stream, fields.include_usage}, std::move(format));
}

}  // namespace

ApiResult<Job> PrepareChat(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto chat = ParseChatRequest(*body);
  if (!chat) return Forward(chat);
  auto model = FindModel(services, chat->model, serving::Needs(serving::Feature::kChat, *chat, chat->stream));
  if (!model) return Forward(model);

  SetCaller(caller, *chat);
  Job out = MakeJob(*chat, std::move(*model), "messages");
  auto built = serving::BuildChat(*out.model, std::move(chat->chat), *chat);
  if (!built) return tl::make_unexpected(FromGeneration(std::move(built.error()), *chat, "messages"));
  out.requests = std::move(built->requests);
  SetSurface(*chat, std::make_unique<ChatFormat>(std::move(built->tool_calls), chat->logprobs), out);
  return out;
}

ApiResult<Job> PrepareCompletion(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto completion = ParseCompletionRequest(*body);
  if (!completion) return Forward(completion);
  auto model = FindModel(services, completion->model,
                         serving::Needs(serving::Feature::kCompletions, *completion, completion->stream));
  if (!model) return Forward(model);

  SetCaller(caller, *completion);
  Job out = MakeJob(*completion, std::move(*model), "prompt");
  auto built = serving::BuildCompletion(*out.model, completion->prompts, *completion);
  if (!built) return tl::make_unexpected(FromGeneration(std::move(built.error()), *completion, "prompt"));
  out.requests = std::move(built->requests);
  CompletionShape shape{completion->logprobs, completion->shown_prompt_logprobs, completion->echo, {}};
  for (size_t i = 0; shape.echo && i < out.requests.size(); ++i) {
    const RawPrompt& raw = completion->prompts[i / out.choices_per_prompt];
    const auto* text = std::get_if<std::string>(&raw);
    const std::vector<TokenId>& tokens = out.requests[i].prompt;
    shape.prompts.push_back({text != nullptr ? *text : out.model->tokenizer->Decode(tokens),
                             std::string(out.model->tokenizer->Bytes(tokens.front()))});
  }
  SetSurface(*completion, std::make_unique<CompletionFormat>(out.requests.size(), std::move(shape)), out);
  return out;
}

}  // namespace inferflux::server
