// Four tokenizer.json, one of each kind, and each of their settings changed: what the vocabulary's metadata become, or
// why they cannot.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_vocab.h"

namespace inferflux::formats {
namespace {

using Entries = std::map<std::string, std::string>;

template <class T>
std::string Joined(const GgufMetadata& metadata, std::string_view key) {
  return fmt::format("[{}]", fmt::join(*metadata.Get<std::vector<T>>(key), ","));
}

std::string ValueOf(const GgufMetadata& metadata, const GgufEntry& entry) {
  if (entry.type == GgufValueType::kString) return *metadata.Get<std::string>(entry.key);
  if (entry.type == GgufValueType::kBool) return *metadata.Get<bool>(entry.key) ? "true" : "false";
  if (entry.type != GgufValueType::kArray) return std::to_string(*metadata.Get<int64_t>(entry.key));
  if (entry.element_type == GgufValueType::kString) return Joined<std::string_view>(metadata, entry.key);
  if (entry.element_type == GgufValueType::kFloat32) return Joined<float>(metadata, entry.key);
  return Joined<int64_t>(metadata, entry.key);
}

Result<Entries> Written(const boost::json::value& json) {
  auto root = JsonObject::Parse(boost::json::serialize(json), "t.json");
  if (!root) return Forward(root);
  const auto tokenizer = ParseHfTokenizer(std::move(*root));
  if (!tokenizer) return Forward(tokenizer);
  const auto config = ParseHfTokenizerConfig(*JsonObject::Parse(R"({"bos_token":"<s>","eos_token":"</s>"})", "c.json"));
  GgufMetadataBuilder builder;
  const auto written = WriteHfVocab({.tokenizer = *tokenizer, .config = &*config, .pre = "p", .rows = 9}, builder);
  if (!written) return Forward(written);
  Entries out;
  const GgufMetadata metadata = builder.Build("t.json");
  for (const GgufEntry& entry : metadata.entries()) {
    std::string key(entry.key);
    if (key.starts_with("tokenizer.ggml.")) key.erase(0, 15);
    out[key] = ValueOf(metadata, entry);
  }
  return out;
}

// What differs from `before`; or why there is nothing.
std::string Changed(const Entries& before, const boost::json::value& json) {
  const auto after = Written(json);
  if (!after) return after.error().message;
  std::string out;
  for (const auto& [key, value] : before) {
    if (!after->contains(key)) out += key + " goes; ";
  }
  for (const auto& [key, value] : *after) {
    const auto was = before.find(key);
    if (was == before.end() || was->second != value) out += fmt::format("{} = {}; ", key, value);
  }
  return out;
}

TEST(HfVocab, EachSettingHasItsEffect) {
  std::ifstream file(INFERFLUX_SOURCE_DIR "/tests/data/tokenizers/edits.json");
  std::stringstream text;
  text << file.rdbuf();
  const boost::json::value kinds = boost::json::parse(text.str());
  ASSERT_EQ(kinds.as_array().size(), 4u);
  for (const auto& each : kinds.as_array()) {
    const boost::json::value& tokenizer = each.at("tokenizer");
    const Entries nothing;
    EXPECT_EQ(Changed(nothing, tokenizer), std::string_view(each.at("metadata").as_string()));
    const auto before = Written(tokenizer);
    ASSERT_TRUE(before) << before.error().message;
    for (const auto& edit : each.at("edits").as_array()) {
      boost::json::value changed = tokenizer;
      changed.at_pointer(edit.at(0).as_string()) = edit.at(1);
      EXPECT_EQ(Changed(*before, changed), std::string_view(edit.at(2).as_string())) << edit;
    }
  }
}

}  // namespace
}  // namespace inferflux::formats
