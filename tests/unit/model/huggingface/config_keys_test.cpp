// The tables of config.json's keys: complete, and with transformers' defaults (tools/configs/list_classes.py lists
// them).
#include "model/huggingface/keys/config_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <map>
#include <string>
#include <vector>

#include "formats/json/json_object.h"
#include "model/families/family.h"
#include "model/families/golden.h"

namespace inferflux::model {
namespace {

using boost::json::object;
using boost::json::value;
using formats::JsonObject;
using ::testing::AllOf;
using ::testing::HasSubstr;

bool Same(const value& a, const value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

// By model type; the first of those with the same type.
std::map<std::string, const Checkpoint*> Checkpoints() {
  std::map<std::string, const Checkpoint*> out;
  for (const Family* family : Families()) {
    for (const Checkpoint& checkpoint : family->checkpoints) {
      for (const std::string_view type : checkpoint.model_types) out.emplace(type, &checkpoint);
    }
  }
  return out;
}

object TableOf(const Checkpoint& checkpoint) {
  if (checkpoint.keys.empty()) {
    ADD_FAILURE() << "the family's file has no table of keys: tools/configs/list_classes.py --draft prints one";
    return {};
  }
  const auto table = JsonObject::Parse(checkpoint.keys, "table");
  EXPECT_TRUE(table) << table.error().message;
  return table ? table->raw() : object();
}

const value* Entry(const object& table, const char* section, std::string_view key) {
  const value* entries = table.if_contains(section);
  return entries == nullptr ? nullptr : entries->as_object().if_contains(key);
}

bool Lists(const object& table, const char* section, std::string_view key) {
  const value* list = table.if_contains(section);
  return list != nullptr && std::ranges::any_of(list->as_array(), [&](const value& v) { return v.as_string() == key; });
}

// What the table says about a class's field; empty if all is well.
std::string Complaint(const object& table, std::string_view field, const value& fallback) {
  if (IsSharedConfigKey(field) || Lists(table, "unused", field)) return "";
  const value* name = Entry(table, "names", field);
  const std::string_view key = name == nullptr ? field : std::string_view(name->as_string());
  if (const value* only = Entry(table, "only", key)) {
    const bool known = std::ranges::any_of(only->as_array(), [&](const value& v) { return Same(v, fallback); });
    return known ? "" : "its default is refused";
  }
  const value* ours = Entry(table, "read", key);
  if (ours == nullptr) return "it is not in the table";
  if (Same(*ours, fallback)) return "";
  return "transformers' default is " + boost::json::serialize(fallback) + ", ours " + boost::json::serialize(*ours);
}

class ConfigClass : public ::testing::TestWithParam<std::string> {
 protected:
  static const object& Classes() {
    static const auto read = JsonObject::ReadFile(testing::DataPath("config_classes.json"));
    return read.value().raw().at("model_types").as_object();
  }
};

TEST_P(ConfigClass, EveryFieldIsInTheTableWithItsDefault) {
  const value* listed = Classes().if_contains(GetParam());
  ASSERT_NE(listed, nullptr) << "run tools/configs/list_classes.py";
  const object& described = listed->as_object();
  const object table = TableOf(*Checkpoints().at(GetParam()));
  for (const auto& [field, fallback] : described.at("fields").as_object()) {
    EXPECT_EQ(Complaint(table, field, fallback), "") << std::string_view(field);
  }
  for (const auto& [other, name] : described.at("names").as_object()) {
    for (const std::string_view key : {std::string_view(other), std::string_view(name.as_string())}) {
      EXPECT_TRUE(Entry(table, "names", key) != nullptr || Entry(table, "read", key) != nullptr ||
                  Lists(table, "unused", key) || IsSharedConfigKey(key))
          << key;
    }
  }
}

TEST_P(ConfigClass, RopesDefaultsAreTransformers) {
  const value* listed = Classes().if_contains(GetParam());
  ASSERT_NE(listed, nullptr);
  const value* rope = listed->as_object().if_contains("rope");
  if (rope == nullptr) GTEST_SKIP() << "it does not rotate";
  const object table = TableOf(*Checkpoints().at(GetParam()));
  const auto expect = [&](const value* wanted, std::vector<const char*> keys) {
    if (wanted == nullptr) return;
    for (const char* key : keys) {
      const value* ours = Entry(table, "read", key);
      if (ours == nullptr || ours->is_null()) continue;
      EXPECT_TRUE(Same(*ours, *wanted)) << key << " is " << boost::json::serialize(*ours);
      return;
    }
    ADD_FAILURE() << "the table has no default for " << boost::json::serialize(*wanted);
  };
  const object* global = &rope->as_object();
  if (const value* local = global->if_contains("sliding_attention")) {
    global = &global->at("full_attention").as_object();
    const bool same = Same(local->as_object().at("rope_theta"), global->at("rope_theta"));
    if (!same) expect(&local->as_object().at("rope_theta"), {"rope_local_base_freq", "local_rope_theta"});
  }
  expect(&global->at("rope_theta"), {"rope_theta", "global_rope_theta", "rotary_emb_base"});
  // Of Gemma 4 only a file without rope_parameters has the default share: the family's own code gives it.
  if (GetParam() == "gemma4_text") return;
  const value* share = global->if_contains("partial_rotary_factor");
  if (share != nullptr && !Same(*share, 1.0)) expect(share, {"partial_rotary_factor", "rotary_pct"});
}

std::vector<std::string> ModelTypes() {
  std::vector<std::string> out;
  for (const auto& [type, ignored] : Checkpoints()) out.push_back(type);
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, ConfigClass, ::testing::ValuesIn(ModelTypes()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

constexpr std::string_view kTable = R"({
  "read": {"hidden_size": 64, "window": 8, "rope_parameters": null}, "only": {"bias": [false, null], "act": ["silu"]},
  "unused": ["noise"], "names": {"width": "hidden_size"}, "nullable": ["window"]})";

Result<JsonObject> Apply(const std::string& text) {
  return ApplyConfigKeys(*JsonObject::Parse(text, "config.json"), "toy", {.keys = kTable});
}

std::string RefusalOf(const std::string& text) {
  const auto applied = Apply(text);
  return applied ? "" : applied.error().message;
}

TEST(ConfigKeys, DefaultsAndNamesAreTransformers) {
  const auto applied = Apply(R"({"width": 32, "noise": 3, "bias": null, "use_cache": true, "other": null})");
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(boost::json::serialize(applied->raw()), R"({"hidden_size":32,"use_cache":true,"window":8})");
  EXPECT_EQ(Apply(R"({"window": null})")->GetOr<int32_t>("window", 0).value(), 0) << "null is not left out";
  const auto text = Apply(R"({"tie_word_embeddings": null, "text_config": {"width": 16}, "vision_config": {}})");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(boost::json::serialize(text->raw().at("text_config")), R"({"hidden_size":16,"window":8})");
}

TEST(ConfigKeys, WhatIsNotComputedIsNamed) {
  EXPECT_THAT(RefusalOf(R"({"hidden_sise": 32})"),
              AllOf(HasSubstr("config.json: hidden_sise is 32"), HasSubstr("model_type 'toy' has no such key"),
                    HasSubstr("did you mean 'hidden_size'"), HasSubstr("remove it"), HasSubstr("GGUF")));
  EXPECT_THAT(RefusalOf(R"({"bias": true})"), HasSubstr("bias is true; of model_type 'toy' only false or null"));
  EXPECT_THAT(RefusalOf(R"({"act": "relu"})"), HasSubstr("act is 'relu'; of model_type 'toy' only 'silu'"));
  EXPECT_THAT(RefusalOf(R"({"hidden_size": null})"), HasSubstr("hidden_size is null"));
  EXPECT_THAT(RefusalOf(R"({"hidden_size": 32, "width": 16})"), HasSubstr("under another name"));
  EXPECT_EQ(RefusalOf(R"({"hidden_size": 32, "width": 32})"), "");
  EXPECT_THAT(RefusalOf(R"({"pruned_heads": {"0": [1]}})"), HasSubstr("pruned_heads is {"));
  EXPECT_EQ(RefusalOf(R"({"pruned_heads": {}, "_note": 1, "unsloth_version": "1"})"), "");
}

TEST(ConfigKeys, RopesParametersAreKnown) {
  EXPECT_THAT(RefusalOf(R"({"rope_parameters": {"rope_type": "yarn", "bata_fast": 3}})"),
              AllOf(HasSubstr("rope_parameters.bata_fast is 3"), HasSubstr("'beta_fast'")));
  EXPECT_THAT(RefusalOf(R"({"rope_parameters": {"partial_rotary_factor": 0.5}})"), HasSubstr("rotates whole heads"));
  EXPECT_THAT(RefusalOf(R"({"rope_parameters": {"full_attention": {}}})"), HasSubstr("by kind of layer"));
  EXPECT_EQ(RefusalOf(R"({"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}})"), "");
}

TEST(ConfigKeys, RopesParametersByKindOfLayerAreKnownToo) {
  constexpr std::string_view kByLayer =
      R"({"read": {"rope_parameters": null, "rope_parameters.full_attention": null}})";
  const auto refusal = [&](const std::string& full) {
    const std::string text = R"({"rope_parameters": {"sliding_attention": {}, "full_attention": )" + full + "}}";
    const auto applied = ApplyConfigKeys(*JsonObject::Parse(text, "config.json"), "toy", {.keys = kByLayer});
    return applied ? "" : applied.error().message;
  };
  EXPECT_EQ(refusal(R"({"rope_type": "default", "partial_rotary_factor": 1.0})"), "");
  EXPECT_THAT(refusal(R"({"partial_rotary_factor": 0.5})"),
              HasSubstr("full_attention.partial_rotary_factor is 0.5; model_type 'toy' rotates whole heads"));
}

TEST(ConfigKeys, RopesParametersThatOneFamilyHas) {
  constexpr std::string_view kOwn = R"({"read": {"rope_parameters": null, "rope_parameters.sections": null},
    "unused": ["rope_parameters.order"]})";
  const std::string text = R"({"rope_parameters": {"sections": [1, 2], "order": true}})";
  const auto applied = ApplyConfigKeys(*JsonObject::Parse(text, "config.json"), "toy", {.keys = kOwn});
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(boost::json::serialize(applied->raw().at("rope_parameters").at("sections")), "[1,2]");
  EXPECT_THAT(RefusalOf(text), HasSubstr("rope_parameters.sections is [1,2]"));
}

}  // namespace
}  // namespace inferflux::model
