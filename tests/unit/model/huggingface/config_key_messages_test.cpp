// What is said of a key of config.json that a family does not compute, word for word.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "model/families/checkpoint.h"
#include "model/huggingface/keys/config_keys.h"

namespace inferflux::model {
namespace {

std::string Judged(const std::string& text, std::string_view table) {
  const auto applied = ApplyConfigKeys(*formats::JsonObject::Parse(text, "c"), "toy", {.keys = table});
  return applied ? boost::json::serialize(applied->raw()) : applied.error().message;
}

constexpr std::string_view kSimple = R"({"read": {"size": 64, "window": 8, "none": null}, "only": {"act": ["silu"]},
  "unused": ["noise", "old"], "names": {"width": "size", "old": "window"}, "nullable": ["window"]})";

TEST(ConfigKeyMessages, AreWordForWord) {
  const auto judged = [](const std::string& text) { return Judged(text, kSimple); };
  EXPECT_EQ(judged("{}"), R"({"size":64,"window":8})");
  EXPECT_EQ(judged(R"({"none":3,"noise":[1]})"), R"({"none":3,"size":64,"window":8})");
  EXPECT_EQ(judged(R"({"none":null,"size":32})"), R"({"none":null,"size":32,"window":8})");
  const std::string advice =
      "; if the key does not change what the model computes, remove it, otherwise use a GGUF file "
      "of the model";
  EXPECT_EQ(judged(R"({"frobnication":"x"})"), "c: frobnication is 'x', but model_type 'toy' has no such key" + advice);
  EXPECT_EQ(judged(R"({"frobnication":null})"), R"({"size":64,"window":8})");
  EXPECT_EQ(judged(R"({"frobnication":0.5})"), "c: frobnication is 0.5, but model_type 'toy' has no such key" + advice);
  const std::string sixty(60, 'y');
  EXPECT_EQ(judged(R"({"frobnication":")" + sixty + R"("})"),
            "c: frobnication is '" + sixty + "', but model_type 'toy' has no such key" + advice);
  EXPECT_EQ(judged(R"({"frobnication":")" + sixty + R"(zz"})"),
            "c: frobnication is '" + sixty + "', but model_type 'toy' has no such key" + advice);
  const std::string long_list = R"(["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"])";  // 60 characters
  EXPECT_EQ(judged(R"({"frobnication":)" + long_list + "}"),
            "c: frobnication is " + long_list + ", but model_type 'toy' has no such key" + advice);
  EXPECT_EQ(judged(R"({"frobnication":["a)" + long_list.substr(2) + "}").substr(0, 87),
            "c: frobnication is " + ("[\"a" + long_list.substr(2)).substr(0, 60) + "..., but");
  EXPECT_EQ(judged(R"({"act":"relu"})"), "c: act is 'relu'; of model_type 'toy' only 'silu' is supported");
  EXPECT_EQ(judged(R"({"act":"silu"})"), R"({"size":64,"window":8})");
  EXPECT_EQ(judged(R"({"size":null})"), "c: size is null, which model_type 'toy' cannot have; 64 is its default");
  EXPECT_EQ(judged(R"({"window":null})"), R"({"window":null,"size":64})");
  EXPECT_EQ(judged(R"({"size":3,"width":4})"), "c: width is 4, but the same setting is 3 under another name");
  EXPECT_EQ(judged(R"({"size":3,"width":3.0})"), R"({"size":3,"window":8})");
  EXPECT_EQ(judged(R"({"old":3})"), R"({"window":3,"size":64})");
  EXPECT_EQ(judged(R"({"old":3,"window":4})"), R"({"window":4,"size":64})") << "the newer name precedes";
  EXPECT_EQ(judged(R"({"is_encoder_decoder":true})"),
            "c: is_encoder_decoder is true; of model_type 'toy' only false is supported");
  EXPECT_EQ(judged(R"({"pruned_heads":{}})"), R"({"size":64,"window":8})");
  EXPECT_EQ(judged(R"({"use_cache":1,"_x":2,"unsloth_y":3})"),
            R"({"use_cache":1,"_x":2,"unsloth_y":3,"size":64,"window":8})");
}

TEST(ConfigKeyMessages, OfRopesObjects) {
  constexpr std::string_view kOne = R"({"read": {"rope_parameters": null, "rope_scaling": null}})";
  const auto one = [&](const std::string& text) { return Judged(text, kOne); };
  EXPECT_EQ(one(R"({"rope_parameters":{"factor":2,"other":null}})"),
            R"({"rope_parameters":{"factor":2,"other":null}})");
  EXPECT_EQ(one(R"({"rope_scaling":{"faktor":2}})").substr(0, 69),
            "c: rope_scaling.faktor is 2, which is not a known parameter of RoPE; ");
  EXPECT_EQ(
      one(R"({"rope_parameters":{"zzzzzzzzzzzz":2}})"),
      "c: rope_parameters.zzzzzzzzzzzz is 2, which is not a known parameter of RoPE; if it does not change what the "
      "model computes, remove it");
  EXPECT_EQ(one(R"({"rope_scaling":{"partial_rotary_factor":0.5}})"),
            "c: rope_scaling.partial_rotary_factor is 0.5; model_type 'toy' rotates whole heads");
  EXPECT_EQ(one(R"({"rope_scaling":{"partial_rotary_factor":1}})"), R"({"rope_scaling":{"partial_rotary_factor":1}})");
  for (const char* kind : {"full_attention", "sliding_attention"}) {
    EXPECT_EQ(one(fmt::format(R"({{"rope_parameters":{{"{}":{{}}}}}})", kind)),
              "c: rope_parameters has parameters by kind of layer, which model_type 'toy' does not use");
  }
  constexpr std::string_view kTwo = R"({"read": {"rope_parameters": null, "rope_scaling": null,
    "rope_parameters.full_attention": null}})";
  const auto two = [&](const std::string& inner) { return Judged(R"({"rope_parameters":{)" + inner + "}}", kTwo); };
  EXPECT_EQ(two(""), R"({"rope_parameters":{}})");
  EXPECT_EQ(
      two(R"("factor":2)"),
      "c: rope_parameters of model_type 'toy' should have full_attention and sliding_attention, each with parameters");
  EXPECT_EQ(Judged(R"({"rope_scaling":{"factor":2}})", kTwo), R"({"rope_scaling":{"factor":2}})");
  EXPECT_EQ(
      two(R"("sliding_attention":{"rope_type":"linear"})"),
      "c: rope_parameters.sliding_attention has the rope_type 'linear'; of layers with a window only 'default' is "
      "supported");
  EXPECT_EQ(two(R"("sliding_attention":{"type":"yarn"})").substr(0, 61),
            "c: rope_parameters.sliding_attention has the rope_type 'yarn'");
  EXPECT_EQ(two(R"("sliding_attention":{"rope_type":"default","type":"yarn"})"),
            R"({"rope_parameters":{"sliding_attention":{"rope_type":"default","type":"yarn"}}})");
  EXPECT_EQ(two(R"("sliding_attention":{"partial_rotary_factor":0.5})"),
            "c: rope_parameters.sliding_attention.partial_rotary_factor is 0.5; only 1 is supported");
  EXPECT_EQ(two(R"("full_attention":{"partial_rotary_factor":0.5})"),
            "c: rope_parameters.full_attention.partial_rotary_factor is 0.5; model_type 'toy' rotates whole heads");
  EXPECT_EQ(two(R"("full_attention":{"faktor":2})").substr(0, 52),
            "c: faktor is 2, but model_type 'toy' has no such key");
  constexpr std::string_view kPartly = R"({"read": {"rope_parameters": null, "rope_parameters.full_attention": null,
    "partial_rotary_factor": 1.0}})";
  EXPECT_TRUE(
      Judged(R"({"rope_parameters":{"full_attention":{"partial_rotary_factor":0.5}}})", kPartly).starts_with("{"))
      << "it rotates parts of heads";
}

}  // namespace
}  // namespace inferflux::model
