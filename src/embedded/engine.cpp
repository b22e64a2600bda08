#include <inferflux/engine.h>

#include <utility>

#include "base/log.h"
#include "embedded/build_call.h"
#include "embedded/embed.h"
#include "embedded/loaded_model_state.h"
#include "embedded/running_call.h"
#include "embedded/runtime.h"

namespace inferflux::embedded {
namespace {

template <class Prompt>
Result<std::unique_ptr<RunningCall>> Start(const std::shared_ptr<LoadedModelState>& state, Prompt prompt,
                                           const GenerateOptions& options) {
  if (auto checked = CheckOptions(options, state->options); !checked) return Forward(checked);
  auto call = BuildCall(*state, std::move(prompt), options);
  if (!call) return Forward(call);
  return RunningCall::Start(state, std::move(*call), LimitsOf(options));
}

Result<Reply> Finish(Result<std::unique_ptr<RunningCall>> call) {
  if (!call) return Forward(call);
  while (true) {
    const auto piece = (*call)->Next();
    if (!piece) return Forward(piece);
    if (!*piece) return (*call)->reply();
  }
}

Result<ReplyStream> ToStream(Result<std::unique_ptr<RunningCall>> call) {
  if (!call) return Forward(call);
  return ReplyStream(std::move(*call));
}

log::Level ToLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return log::Level::kDebug;
    case LogLevel::kInfo:
      return log::Level::kInfo;
    case LogLevel::kWarning:
      return log::Level::kWarning;
    case LogLevel::kError:
      break;
  }
  return log::Level::kError;
}

}  // namespace

Engine::Engine(std::shared_ptr<LoadedModelState> state) : state_(std::move(state)) {}

Result<Engine> Engine::Load(const std::string& path, const LoadOptions& options) {
  auto runtime = Runtime::Create({.threads = options.threads});
  if (!runtime) return Forward(runtime);
  return (*runtime)->LoadPath(path, options);
}

const ModelInfo& Engine::info() const { return state_->info; }
const LoadOptions& Engine::load_options() const { return state_->options; }

Result<Reply> Engine::Generate(std::string_view prompt, const GenerateOptions& options) const {
  return Finish(Start(state_, serving::RawPrompt(std::string(prompt)), options));
}

Result<Reply> Engine::Generate(std::span<const int32_t> prompt, const GenerateOptions& options) const {
  return Finish(Start(state_, serving::RawPrompt(std::vector(prompt.begin(), prompt.end())), options));
}

Result<Reply> Engine::Chat(const std::vector<Message>& messages, const GenerateOptions& options) const {
  return Finish(Start(state_, ToChat(messages), options));
}

Result<ReplyStream> Engine::Stream(std::string_view prompt, const GenerateOptions& options) const {
  return ToStream(Start(state_, serving::RawPrompt(std::string(prompt)), options));
}

Result<ReplyStream> Engine::Stream(std::span<const int32_t> prompt, const GenerateOptions& options) const {
  return ToStream(Start(state_, serving::RawPrompt(std::vector(prompt.begin(), prompt.end())), options));
}

Result<ReplyStream> Engine::StreamChat(const std::vector<Message>& messages, const GenerateOptions& options) const {
  return ToStream(Start(state_, ToChat(messages), options));
}

Result<std::vector<std::vector<float>>> Engine::Embed(std::span<const std::string> texts,
                                                      const GenerateOptions& options) const {
  return EmbedTexts(*state_, texts, options);
}

std::vector<int32_t> Engine::Tokenize(std::string_view text, bool special) const {
  const text::Tokenizer& tokenizer = *state_->model->tokenizer;
  auto tokens = tokenizer.Encode(text);
  return special ? tokenizer.WithSpecials(std::move(tokens)) : tokens;
}

Result<std::string> Engine::Detokenize(std::span<const int32_t> tokens) const {
  const text::Tokenizer& tokenizer = *state_->model->tokenizer;
  for (const int32_t id : tokens) {
    if (id >= 0 && id < tokenizer.size()) continue;
    return FailAt("tokens", Error::kNoPosition, "there is no token {}: this model's tokens are 0 to {}", id,
                  tokenizer.size() - 1);
  }
  return tokenizer.Decode(tokens);
}

void SetLogLevel(LogLevel level) { log::SetLevel(ToLevel(level)); }

}  // namespace inferflux::embedded
