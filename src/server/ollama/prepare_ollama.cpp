#include "server/ollama/prepare_ollama.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/schema.h"
#include "server/ollama/ollama_error.h"
#include "server/ollama/ollama_reply.h"
#include "server/ollama/ollama_requests.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"
#include "serving/generation/build_generation.h"
#include "serving/generation/infill_prompt.h"

namespace inferflux::server {
namespace {

using serving::Feature;
using Kind = OllamaReply::Kind;

void SetOllamaCaller(const Caller& caller, OllamaFields& fields) {
  fields.request_id = caller.request_id;
  fields.account = caller.client();
  fields.account_limits = caller.account_limits;
  fields.cache_salt = caller.cache_salt;
}

Job MakeOllamaJob(const OllamaFields& fields, Kind kind, std::shared_ptr<const serving::ServedModel> model,
                  serving::Generation built) {
  Job out{.model = std::move(model),
          .requests = std::move(built.requests),
          .stream = fields.stream,
          .prompt_param = kind == Kind::kChat ? "messages" : "prompt"};
  if (built.capped_tokens) out.headers.push_back({"x-inferflux-max-tokens", std::to_string(*built.capped_tokens)});
  serving::AnswerParser parser;
  if (!built.answers.empty()) parser = std::move(built.answers.front());
  out.surface = std::make_unique<OllamaReply>(
      OllamaReply::Shape{.kind = kind, .model = fields.model, .logprobs = fields.logprobs}, std::move(parser));
  return out;
}

// A request without a prompt only asks for the model.
Job LoadJob(const OllamaFields& fields, Kind kind, std::shared_ptr<const serving::ServedModel> model) {
  Job out{.model = std::move(model)};
  out.ready = OllamaLoadReply(kind, fields.model, fields.keep_alive == 0.0);
  return out;
}

}  // namespace

ApiResult<std::shared_ptr<const serving::ServedModel>> FindOllamaModel(const Services& services, std::string name,
                                                                       std::span<const Feature> needs) {
  constexpr std::string_view kTag = ":latest";
  auto found = FindModel(services, name, needs);
  if (found || found.error().status != 404 || !name.ends_with(kTag)) return found;
  name.resize(name.size() - kTag.size());
  auto again = FindModel(services, name, needs);
  return again || !again.error().load_first.empty() ? again : found;
}

void KeepOllamaModel(const Services& services, const Caller& caller, const serving::ServedModel& model,
                     std::optional<double> seconds) {
  if (!seconds || !caller.MayLoad()) return;
  const double bounded = std::min(std::ceil(*seconds), static_cast<double>(config::kMaxKeepAlive));
  (void)services.pool.SetStay(model.id, {}, serving::KeepAlive(bounded < 0 ? -1 : static_cast<int64_t>(bounded)));
}

ApiResult<Job> PrepareOllamaChat(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto chat = ParseOllamaChat(*body);
  if (!chat) return Forward(chat);
  auto model = FindOllamaModel(services, chat->model, serving::Needs(Feature::kChat, *chat, chat->stream));
  if (!model) return Forward(model);
  KeepOllamaModel(services, caller, **model, chat->keep_alive);
  if (chat->chat.messages.empty()) return LoadJob(*chat, Kind::kChat, std::move(*model));
  SetOllamaCaller(caller, *chat);
  auto built = serving::BuildChat(**model, std::move(chat->chat), *chat);
  if (!built) return tl::make_unexpected(FromOllamaGeneration(std::move(built.error()), "messages"));
  return MakeOllamaJob(*chat, Kind::kChat, std::move(*model), std::move(*built));
}

ApiResult<Job> PrepareOllamaGenerate(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto parsed = ParseOllamaGenerate(*body);
  if (!parsed) return Forward(parsed);
  const bool chat = !parsed->raw && parsed->suffix.empty();
  auto model = FindOllamaModel(services, parsed->model,
                               serving::Needs(chat ? Feature::kChat : Feature::kCompletions, *parsed, parsed->stream));
  if (!model) return Forward(model);
  KeepOllamaModel(services, caller, **model, parsed->keep_alive);
  if (parsed->prompt.empty() && parsed->suffix.empty()) return LoadJob(*parsed, Kind::kGenerate, std::move(*model));
  SetOllamaCaller(caller, *parsed);
  serving::GenerationResult<serving::Generation> built;
  if (chat) {
    built = serving::BuildChat(**model, std::move(parsed->chat), *parsed);
  } else {
    std::vector<serving::RawPrompt> prompts = {parsed->prompt};
    if (!parsed->suffix.empty()) {
      auto infill = serving::InfillPrompt(**model, {.prefix = parsed->prompt, .suffix = parsed->suffix});
      if (!infill) {
        return RefuseAs("unsupported_parameter", "suffix", "'suffix' " + infill.error().message);
      }
      prompts.front() = std::move(*infill);
    }
    built = serving::BuildCompletion(**model, prompts, *parsed);
  }
  if (!built) return tl::make_unexpected(FromOllamaGeneration(std::move(built.error()), "prompt"));
  return MakeOllamaJob(*parsed, Kind::kGenerate, std::move(*model), std::move(*built));
}

}  // namespace inferflux::server
