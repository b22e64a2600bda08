#include "server/openai/completion_format.h"

#include <utility>

#include "server/openai/logprobs.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

// Appends the lists of `more` to those of `lists`.
void Extend(json::object& lists, json::object more) {
  for (auto& [name, list] : more) {
    for (json::value& value : list.as_array()) lists[name].as_array().push_back(std::move(value));
  }
}

}  // namespace

json::object CompletionFormat::Choice(size_t index, const scheduler::StreamEvent& event) {
  json::object out;
  out["text"] = event.text;
  out["index"] = index;
  out["logprobs"] = nullptr;
  if (shape_.logprobs && !event.tokens.empty()) {
    out["logprobs"] = CompletionLogprobs(event.tokens, states_[index].offset);
  }
  out["finish_reason"] = nullptr;
  return out;
}

// The choice that echoes the prompt, sent before any other of its index. Empty if not requested or already sent.
std::optional<json::object> CompletionFormat::Prompt(size_t index, const scheduler::StreamEvent& event) {
  State& state = states_[index];
  if (state.told_prompt || !(shape_.echo || shape_.prompt_logprobs)) return std::nullopt;
  state.told_prompt = true;
  json::object out = Choice(index, {});
  if (shape_.echo) {
    const EchoedPrompt& prompt = shape_.prompts[index];
    out["text"] = prompt.text;
    if (shape_.logprobs) {
      out["logprobs"] =
          EchoLogprobs(prompt.first_token, event.prompt, static_cast<size_t>(*shape_.logprobs), state.offset);
    }
  }
  if (shape_.prompt_logprobs) {
    out["prompt_logprobs"] = PromptLogprobs(event.prompt, static_cast<size_t>(*shape_.prompt_logprobs));
  }
  return out;
}

json::object CompletionFormat::Whole(size_t index, const scheduler::StreamEvent& all) {
  std::optional<json::object> prompt = Prompt(index, all);
  json::object out = Choice(index, all);
  if (shape_.logprobs && all.tokens.empty()) {  // an answer without tokens has lists without entries
    out["logprobs"] = CompletionLogprobs({}, states_[index].offset);
  }
  if (prompt) {
    json::string text = std::move((*prompt)["text"].as_string());
    text += out["text"].as_string();
    out["text"] = std::move(text);
    if (json::object* before = (*prompt)["logprobs"].if_object()) {
      if (json::object* behind = out["logprobs"].if_object()) Extend(*before, std::move(*behind));
      out["logprobs"] = std::move(*before);
    }
    if (prompt->contains("prompt_logprobs")) out["prompt_logprobs"] = std::move((*prompt)["prompt_logprobs"]);
  }
  out["finish_reason"] = FinishName(all.finish->reason);
  return out;
}

void CompletionFormat::Append(size_t index, const scheduler::StreamEvent& event, json::array& choices) {
  if (auto prompt = Prompt(index, event)) choices.push_back(std::move(*prompt));
  if (!event.text.empty() || (shape_.logprobs && !event.tokens.empty())) choices.push_back(Choice(index, event));
  if (!event.finish) return;
  json::object last = Choice(index, {});
  last["finish_reason"] = FinishName(event.finish->reason);
  choices.push_back(std::move(last));
}

}  // namespace inferflux::server
