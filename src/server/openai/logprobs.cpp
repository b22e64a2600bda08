#include "server/openai/logprobs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "unicode/utf8.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

// JSON has no infinity; the API uses this value for "impossible".
constexpr float kLowest = -9999.0f;

double Finite(float logprob) { return std::max(logprob, kLowest); }

// The text of a token, which may hold only part of a character. Invalid UTF-8 becomes U+FFFD.
std::string Printable(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const unicode::Utf8Char c = unicode::DecodeUtf8(bytes, at);
    unicode::AppendUtf8(c.code, out);
    at += c.size;
  }
  return out;
}

json::array Bytes(const std::string& bytes) {
  json::array out;
  for (const char byte : bytes) out.push_back(static_cast<uint8_t>(byte));
  return out;
}

json::object Describe(const scheduler::TokenLogprob& token) {
  json::object out;
  out["token"] = Printable(token.bytes);
  out["logprob"] = Finite(token.logprob);
  out["bytes"] = Bytes(token.bytes);
  return out;
}

size_t Characters(const std::string& valid) {
  return static_cast<size_t>(std::count_if(valid.begin(), valid.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

json::object ChatLogprobs(const std::vector<scheduler::GeneratedToken>& tokens) {
  json::array content;
  for (const scheduler::GeneratedToken& token : tokens) {
    json::object entry = Describe(token.chosen);
    json::array top;
    for (const scheduler::TokenLogprob& other : token.top) top.push_back(Describe(other));
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
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
      entry[std::to_string(one.id)] = {{"logprob", Finite(one.logprob)}, {"decoded_token", Printable(one.bytes)}};
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
    const std::string name = Printable(token.chosen.bytes);
    json::object top;
    for (const scheduler::TokenLogprob& other : token.top) {
      top[Printable(other.bytes)] = Finite(other.logprob);
    }
    names.push_back(json::string(name));
    values.push_back(Finite(token.chosen.logprob));
    tops.push_back(std::move(top));
    offsets.push_back(offset);
    offset += Characters(name);
  }
  json::object out;
  out["tokens"] = std::move(names);
  out["token_logprobs"] = std::move(values);
  out["top_logprobs"] = std::move(tops);
  out["text_offset"] = std::move(offsets);
  return out;
}

}  // namespace inferflux::server
