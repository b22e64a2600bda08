// What fields of other servers are called at an endpoint of this one.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::server {
namespace peer_names {

// Names of one thing, that of this server's endpoints first.
inline constexpr std::string_view kTokens[] = {
    "max_tokens", "max_output_tokens", "num_predict", "max_completion_tokens",
    "n_predict",  "max_new_tokens",    "max_length",  "max_gen_len"};
inline constexpr std::string_view kStops[] = {"stop", "stop_sequences"};
inline constexpr std::string_view kPenalty[] = {"repetition_penalty", "repeat_penalty", "rep_pen"};
inline constexpr std::string_view kPrompt[] = {"messages", "input", "prompt", "inputs"};
inline constexpr std::string_view kSystem[] = {"instructions", "system"};
inline constexpr std::string_view kThinkingBudget[] = {"thinking_token_budget", "thinking_budget",
                                                       "thinking_budget_tokens", "reasoning_budget"};
inline constexpr std::string_view kTypical[] = {"typical_p", "typical"};
inline constexpr std::string_view kLogprobs[] = {"logprobs", "n_probs"};
inline constexpr std::string_view kMirostat[] = {"mirostat", "mirostat_mode"};
inline constexpr std::string_view kDimensions[] = {"dimensions", "dims"};
inline constexpr std::string_view kDocuments[] = {"documents", "docs", "passages", "texts"};
inline constexpr std::span<const std::string_view> kGroups[] = {
    kTokens,  kStops,    kPenalty,  kPrompt,     kSystem,    kThinkingBudget,
    kTypical, kLogprobs, kMirostat, kDimensions, kDocuments,
};

// What needs more words. `field`: for endpoints that have it; empty: for all.
struct PeerName {
  std::string_view name, field, here;
};
inline constexpr std::string_view kThinkingSwitch = "'chat_template_kwargs': {\"enable_thinking\": ...}";
inline constexpr std::string_view kOwnFields = "the fields of the request itself, such as 'temperature'";
inline constexpr PeerName kPeerNames[] = {
    {"guided_json", "structured_outputs", "'structured_outputs.json'"},
    {"guided_regex", "structured_outputs", "'structured_outputs.regex'"},
    {"guided_choice", "structured_outputs", "'structured_outputs.choice'"},
    {"json_schema", "response_format", "'response_format' or 'structured_outputs.json'"},
    {"format", "response_format", "'response_format'"},
    {"response_format", "text", "'text.format'"},
    {"response_format", "format", "'format'"},
    {"response_format", "output_config", "'output_config.format'"},
    {"reasoning_effort", "reasoning", "'reasoning.effort'"},
    {"reasoning", "reasoning_effort", "'reasoning_effort'"},
    {"options", "temperature", kOwnFields},
    {"parameters", "temperature", kOwnFields},
    {"temperature", "options", "'options.temperature'"},
    {"top_p", "options", "'options.top_p'"},
    {"top_k", "options", "'options.top_k'"},
    {"seed", "options", "'options.seed'"},
    {"stop", "options", "'options.stop'"},
    {"num_predict", "options", "'options.num_predict'"},
    {"max_tokens", "options", "'options.num_predict'"},
    {"system", "messages", "a message with the role \"system\""},
    {"num_ctx", "", "the server's setting runtime.context"},
    {"keep_alive", "", "the server's setting runtime.keep_alive"},
    {"stop_token_ids", "stop", "'stop', which takes text"},
    {"do_sample", "temperature", "'temperature': 0 for false"},
    {"enable_thinking", "chat_template_kwargs", kThinkingSwitch},
    {"think", "chat_template_kwargs", kThinkingSwitch},
    {"thinking", "chat_template_kwargs", kThinkingSwitch},
    {"use_beam_search", "best_of", "not supported; 'best_of' samples several answers and keeps the likeliest"},
    {"cache_prompt", "", "always on: prompts are cached without a field"},
};

}  // namespace peer_names

// "; here it is 'x'", or an empty string. `known`: the endpoint's own fields.
inline std::string PeerNameHint(std::string_view name, const std::vector<std::string_view>& known) {
  const auto is_known = [&](std::string_view field) { return std::ranges::find(known, field) != known.end(); };
  for (const auto& group : peer_names::kGroups) {
    if (std::ranges::find(group, name) == group.end()) continue;
    const auto ours = std::ranges::find_if(group, is_known);
    if (ours != group.end()) return fmt::format("; here it is '{}'", *ours);
  }
  for (const auto& peer : peer_names::kPeerNames) {
    if (peer.name == name && (peer.field.empty() || is_known(peer.field))) {
      return fmt::format("; here it is {}", peer.here);
    }
  }
  return {};
}

}  // namespace inferflux::server
