#include "server/openai/prepare.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/openai/chat_format.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_format.h"
#include "server/openai/completion_request.h"
#include "server/openai/openai_reply.h"
#include "server/reply/custom_tools.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"
#include "serving/generation/build_generation.h"
#include "serving/generation/infill_prompt.h"
#include "unicode/utf8.h"

namespace inferflux::server {
namespace {

constexpr float kLeastTimeout = 1e-3f;

void SetCaller(const Caller& caller, GenerationFields& fields) {
  if (fields.timeout > 0) {
    fields.timeout = std::max(kLeastTimeout, fields.timeout - static_cast<float>(caller.waited_seconds));
  }
  fields.priority += caller.priority;
  fields.request_id = caller.request_id;
  fields.account = caller.client();
  fields.account_limits = caller.account_limits;
  fields.cache_salt = JoinedSalt(caller.cache_salt, fields.prompt_cache_key);
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

// With a suffix, the prompts become prompts of a model that fills in the middle.
ApiStatus FillIn(const serving::ServedModel& model, CompletionRequest& completion) {
  if (completion.suffix.empty()) return {};
  for (RawPrompt& prompt : completion.prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    if (text == nullptr) return Refuse("suffix", "needs prompts that are text, not token ids");
    auto filled = serving::InfillPrompt(model, {.prefix = *text, .suffix = completion.suffix});
    if (!filled) return RefuseAs("unsupported_parameter", "suffix", "'suffix' " + filled.error().message);
    prompt = std::move(*filled);
  }
  return {};
}

void TakeBuilt(serving::Generation& built, Job& out) {
  out.requests = std::move(built.requests);
  if (built.capped_tokens) out.headers.push_back({"x-inferflux-max-tokens", std::to_string(*built.capped_tokens)});
}

int32_t PromptTokens(const Job& job) {
  size_t count = 0;
  for (size_t i = 0; i < job.requests.size(); i += job.choices_per_prompt) count += job.requests[i].prompt.size();
  return static_cast<int32_t>(count);
}

void SetSurface(const GenerationFields& fields, std::unique_ptr<ReplyFormat> format, Job& out) {
  out.surface = std::make_unique<OpenAiReply>(OpenAiReply::Shape{.model = out.model->id,
                                                                 .choices = out.requests.size(),
                                                                 .stream = fields.stream,
                                                                 .include_usage = fields.include_usage,
                                                                 .continuous_usage = fields.continuous_usage,
                                                                 .prompt_tokens = PromptTokens(out)},
                                              std::move(format));
}

}  // namespace

ApiResult<Job> PrepareChat(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto chat = ParseChatRequest(*body);
  if (!chat) return Forward(chat);
  auto model =
      FindModel(services, chat->model, serving::Needs(serving::Feature::kChat, *chat, chat->stream), chat->timeout);
  if (!model) return Forward(model);

  SetCaller(caller, *chat);
  Job out = MakeJob(*chat, std::move(*model), "messages");
  std::vector<std::string> custom_tools = CustomNames(chat->chat.functions);
  auto built = serving::BuildChat(*out.model, std::move(chat->chat), *chat);
  if (!built) return tl::make_unexpected(FromGeneration(std::move(built.error()), *chat, "messages"));
  TakeBuilt(*built, out);
  SetSurface(*chat, std::make_unique<ChatFormat>(std::move(built->answers), std::move(custom_tools), chat->logprobs),
             out);
  return out;
}

ApiResult<Job> PrepareCompletion(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto completion = ParseCompletionRequest(*body);
  if (!completion) return Forward(completion);
  auto model =
      FindModel(services, completion->model,
                serving::Needs(serving::Feature::kCompletions, *completion, completion->stream), completion->timeout);
  if (!model) return Forward(model);

  SetCaller(caller, *completion);
  Job out = MakeJob(*completion, std::move(*model), "prompt");
  if (ApiStatus filled = FillIn(*out.model, *completion); !filled) return Forward(filled);
  auto built = serving::BuildCompletion(*out.model, completion->prompts, *completion);
  if (!built) return tl::make_unexpected(FromGeneration(std::move(built.error()), *completion, "prompt"));
  TakeBuilt(*built, out);
  if (completion->kept_choices < completion->choices) out.kept_choices = static_cast<size_t>(completion->kept_choices);
  CompletionShape shape{completion->logprobs, completion->shown_prompt_logprobs, completion->echo, {}};
  for (size_t i = 0; shape.echo && i < out.requests.size(); ++i) {
    const RawPrompt& raw = completion->prompts[i / out.choices_per_prompt];
    const auto* text = std::get_if<std::string>(&raw);
    const std::vector<TokenId>& tokens = out.requests[i].prompt;
    // Token ids may begin or end within a character, and JSON has no such text.
    shape.prompts.push_back(
        {text != nullptr ? *text : unicode::ReplaceInvalidUtf8(out.model->tokenizer->Decode(tokens)),
         std::string(out.model->tokenizer->Bytes(tokens.front()))});
  }
  SetSurface(*completion, std::make_unique<CompletionFormat>(out.requests.size(), std::move(shape)), out);
  return out;
}

}  // namespace inferflux::server
