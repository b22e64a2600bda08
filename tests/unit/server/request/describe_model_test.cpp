// The descriptions of models, to anyone and to operators.
#include "server/request/describe_model.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

namespace inferflux::server {
namespace {

namespace json = boost::json;

TEST(DescribeModelTest, AModelIsDescribedAsItIs) {
  serving::ServedModel model;
  model.id = "m";
  model.info.path = "/models/m.gguf";
  model.info.draft = "/models/d.gguf";
  model.info.format = "gguf";
  model.info.architecture = "llama";
  model.info.quantization = "Q4_K";
  model.info.parameters = 70;
  model.info.context = 80;
  model.info.vocab_size = 90;
  model.info.kv_dtype = "f16";
  model.info.kv_tokens = 100;
  model.info.embedding.dimensions = 16;
  model.info.memory = {{.device = "cpu", .weight_bytes = 5, .kv_bytes = 0},
                       {.device = "cuda:0", .weight_bytes = 6, .kv_bytes = 7}};
  model.info.notes = {"a note", "another"};
  model.info.created = 110;
  model.engine.pooling.labels = {"yes", "no"};
  model.capabilities.scores = true;
  model.exposure = {
      .requested_backend = "CUDA,cpu",
      .normalised_request = "cuda,cpu",
      .chain = {"cuda", "cpu"},
      .exposed_backend = "cpu",
      .provider = "native",
      .fallback = true,
      .fallback_reason = "no device",
      .attempts = {{"cuda", "native", "failed", "no device"}, {"cpu", "native", "loaded", "", {"w1", "w2"}}}};
  const json::object operators = DescribeServed(model, ModelView::kOperator);
  EXPECT_EQ(json::serialize(operators.at("details")),
            R"({"architecture":"llama","quantization":"Q4_K","parameters":70,"context":80,"vocab_size":90,)"
            R"("draft":true,"kv_dtype":"f16","kv_tokens":100,"labels":["yes","no"],"memory":{"cpu":{"weight_bytes":5},)"
            R"("cuda:0":{"weight_bytes":6,"kv_bytes":7}},"notes":["a note","another"]})");
  EXPECT_EQ(json::serialize(operators.at("backend_exposure")),
            R"({"requested_backend":"CUDA,cpu","chain":["cuda","cpu"],"exposed_backend":"cpu","provider":"native",)"
            R"("fallback":true,"fallback_reason":"no device","attempts":[{"backend":"cuda","provider":"native",)"
            R"("outcome":"failed","reason":"no device"},{"backend":"cpu","provider":"native","outcome":"loaded",)"
            R"("reason":"","workers":["w1","w2"]}]})");
  EXPECT_EQ(operators.at("path"), "/models/m.gguf");
  EXPECT_EQ(operators.at("created"), 110);
  EXPECT_EQ(json::serialize(operators.at("status")), R"({"value":"loaded"})");
  json::object anyone = DescribeServed(model, ModelView::kAnyone);
  EXPECT_FALSE(anyone.contains("path"));
  anyone["path"] = "/models/m.gguf";
  EXPECT_EQ(anyone, operators) << "and nothing else";
  model.capabilities = {.embeddings = true};
  model.info.draft.clear();
  const json::value details = DescribeServed(model, ModelView::kAnyone).at("details");
  EXPECT_EQ(details.at("draft"), false);
  EXPECT_EQ(details.at("embedding_dimensions"), 16);
  EXPECT_FALSE(details.as_object().contains("labels"));
}

// Each capability by its own name, and no other.
TEST(DescribeModelTest, EachCapabilityHasItsName) {
  using serving::Capabilities;
  const std::pair<bool Capabilities::*, const char*> all[] = {
      {&Capabilities::completions, "completions"},
      {&Capabilities::chat, "chat"},
      {&Capabilities::embeddings, "embeddings"},
      {&Capabilities::scores, "scores"},
      {&Capabilities::logprobs, "logprobs"},
      {&Capabilities::prompt_logprobs, "prompt_logprobs"},
      {&Capabilities::streaming, "streaming"},
      {&Capabilities::speculative_decoding, "supports_speculative_decoding"},
      {&Capabilities::kv_prefix_copy, "supports_kv_prefix_copy"},
      {&Capabilities::kv_save_restore, "supports_kv_save_restore"},
      {&Capabilities::structured_output, "supports_structured_output"},
      {&Capabilities::multimodal, "supports_multimodal"},
      {&Capabilities::unified_batch, "unified_batch"},
      {&Capabilities::phased_execution, "phased_execution"},
      {&Capabilities::device_sampling, "device_sampling"},
      {&Capabilities::graph_capture, "graph_capture"},
      {&Capabilities::batch_invariant, "batch_invariant"}};
  for (const auto& [member, name] : all) {
    serving::ServedModel model;
    for (const auto& [other, unused] : all) model.capabilities.*other = false;
    model.capabilities.*member = true;
    const json::object shown = DescribeServed(model, ModelView::kAnyone).at("capabilities").as_object();
    EXPECT_EQ(shown.size(), std::size(all));
    for (const auto& [key, value] : shown) EXPECT_EQ(value, key == name) << std::string_view(key) << " for " << name;
  }
}

TEST(DescribeModelTest, WhyAModelFailedIsForOperators) {
  using State = serving::UnloadedModel::State;
  const serving::UnloadedModel failed{
      .id = "m", .path = "/models/m.gguf", .state = State::kFailed, .error = "/models is gone"};
  EXPECT_EQ(json::serialize(DescribeUnloaded(failed, ModelView::kOperator)),
            R"({"id":"m","object":"model","created":0,"owned_by":"inferflux","ready":false,"path":"/models/m.gguf",)"
            R"("status":{"value":"failed","failed":true,"error":"/models is gone"}})");
  EXPECT_EQ(json::serialize(DescribeUnloaded(failed, ModelView::kAnyone)),
            R"({"id":"m","object":"model","created":0,"owned_by":"inferflux","ready":false,)"
            R"("status":{"value":"failed","failed":true,"error":"the model could not be loaded"}})");
  for (const auto& [state, name] : {std::pair(State::kLoading, "loading"), std::pair(State::kUnloaded, "unloaded")}) {
    const json::object other =
        DescribeUnloaded({.id = "m", .path = "p", .state = state, .error = "x"}, ModelView::kAnyone);
    EXPECT_EQ(json::serialize(other.at("status")), fmt::format(R"({{"value":"{}"}})", name));
  }
}

}  // namespace
}  // namespace inferflux::server
