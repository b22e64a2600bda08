#include "server/openai/logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "server/reply/logprob_entry.h"
#include "unicode/utf8.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

// A token that holds only part of a character, as the API writes it where texts are keys: two such tokens would have
// the same text.
std::string Key(const std::string& bytes) {
  if (unicode::IsValidUtf8(bytes)) return bytes;
  std::string out = "bytes:";
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
  return out;
}

size_t Characters(const std::string& valid) {
  return static_cast<size_t>(std::count_if(valid.begin(), valid.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

json::object ChatLogprobs(const std::vector<scheduler::GeneratedToken>& tokens) {
  json::array content;
  for (const scheduler::GeneratedToken& token : tokens) {
    content.push_back(DescribeLogprobs(token));
  }
  json::object out;
  out["content"] = std::move(content);
  out["refusal"] = nullptr;
  return out;
}

json::object EchoLogprobs(const std::string& first, const std::vector<scheduler::GeneratedToken>& rest,
                          size_t alternatives, size_t& offset) {
  std::vector<scheduler::GeneratedToken> tokens{{.chosen = {.bytes = first}, .top = {}}};
  for (scheduler::GeneratedToken token : rest) {
    token.top.resize(std::min(token.top.size(), alternatives));
    tokens.push_back(std::move(token));
  }
  json::object out = CompletionLogprobs(tokens, offset);
  out["token_logprobs"].as_array()[0] = nullptr;
  out["top_logprobs"].as_array()[0] = nullptr;
  return out;
}

json::array PromptLogprobs(const std::vector<scheduler::GeneratedToken>& rest, size_t alternatives) {
  json::array out{nullptr};
  for (const scheduler::GeneratedToken& token : rest) {
    json::object entry;
    const auto add = [&](const scheduler::TokenLogprob& one) {
      entry[std::to_string(one.id)] = {{"logprob", FiniteLogprob(one.logprob)},
                                       {"decoded_token", PrintableToken(one.bytes)}};
    };
    add(token.chosen);
    for (size_t i = 0; i < std::min(alternatives, token.top.size()); ++i) add(token.top[i]);
    out.push_back(std::move(entry));
  }
  return out;
}

json::object CompletionLogprobs(const std::vector<scheduler::GeneratedToken>& tokens, size_t& offset) {
  json::array names, values, tops, offsets;
  for (const scheduler::GeneratedToken& token : tokens) {
    json::object top;
    for (const scheduler::TokenLogprob& other : token.top) top[Key(other.bytes)] = FiniteLogprob(other.logprob);
    names.push_back(json::string(Key(token.chosen.bytes)));
    values.push_back(FiniteLogprob(token.chosen.logprob));
    tops.push_back(std::move(top));
    offsets.push_back(offset);
    offset += Characters(PrintableToken(token.chosen.bytes));
  }
  json::object out;
  out["tokens"] = std::move(names);
  out["token_logprobs"] = std::move(values);
  out["top_logprobs"] = std::move(tops);
  out["text_offset"] = std::move(offsets);
  return out;
}

}  // namespace inferflux::server
