// The numbers of a plan, at their edges, and the file that it becomes, word for word.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/inferctl/quickstart/plan.h"
#include "apps/inferctl/quickstart/server_yaml.h"
#include "model/families/family.h"
#include "model/families/golden.h"
#include "serving/backends/gpu_layers.h"

namespace inferflux::apps {
namespace {

using serving::Provider;
using serving::Target;

serving::EngineEntry Cpu(Provider provider, std::vector<compute::Device> devices) {
  return {.target = Target::kCpu,
          .provider = provider,
          .make = [](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
            return Fail(ErrorCode::kInternal, "not meant to be made");
          },
          .devices = [devices] { return devices; }};
}

QuickstartModel Model() {
  return {.path = "/m/a.gguf",
          .format = "gguf",
          .weight_bytes = 800 * kMiB,
          .layers = 16,
          .context = 4096,
          .kv_token_values = 1000};
}

int64_t Needed() { return serving::MemoryFor(800 * kMiB); }

Result<QuickstartPlan> PlanWith(int64_t free, const QuickstartModel& model = Model()) {
  const std::vector<serving::EngineEntry> engines = {Cpu(Provider::kNative, {{"a device", free}})};
  return MakePlan("cpu", engines, model);
}

TEST(QuickstartNumbers, HalfOfWhatIsLeftIsForKeysAndValues) {
  EXPECT_EQ(PlanWith(Needed() + 1000 * kMiB)->kv_budget, 500 * kMiB);
  EXPECT_EQ(PlanWith(Needed() + 1003 * kMiB)->kv_budget, 501 * kMiB) << "whole MiB";
  EXPECT_EQ(PlanWith(Needed() + 64 * kMiB)->kv_budget, 32 * kMiB) << "the least";
  const auto refused = PlanWith(Needed() + 64 * kMiB - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  const auto gib = [](int64_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30)); };
  EXPECT_EQ(refused.error().message,
            "/m/a.gguf needs about " + gib(Needed() + 64 * kMiB) + ", and " + gib(Needed() + 64 * kMiB - 1) +
                " are free on a device: free some, or take a smaller model or quantisation (inferflux-quantize makes "
                "one)");
  EXPECT_EQ(PlanWith(0)->kv_budget, 0) << "the free memory is unknown";
  const std::vector<serving::EngineEntry> none = {Cpu(Provider::kNative, {})};
  EXPECT_EQ(MakePlan("cpu", none, Model())->kv_budget, 0);
  EXPECT_EQ(MakePlan("cpu", none, Model())->device.name, "");
}

TEST(QuickstartNumbers, SmallerKeysAndValuesWhereEightSequencesDoNotFit) {
  const int64_t budget = 64 * kMiB, free = Needed() + 2 * budget;
  QuickstartModel model = Model();
  model.context = 1024;
  model.kv_token_values = budget / 2 / (1024 * 8);  // eight sequences in 16 bits fill the budget
  EXPECT_EQ(PlanWith(free, model)->kv_dtype, "fp16");
  ++model.kv_token_values;
  EXPECT_EQ(PlanWith(free, model)->kv_dtype, "int8");
  model.context = 1 << 20;
  model.kv_token_values = budget / 2 / (8192 * 8);
  EXPECT_EQ(PlanWith(free, model)->kv_dtype, "fp16") << "of 8192 tokens at most";
  ++model.kv_token_values;
  EXPECT_EQ(PlanWith(free, model)->kv_dtype, "int8");
}

TEST(QuickstartNumbers, WhatLlamaCppSplitsHasLayersAndNoBudget) {
  serving::EngineEntry gpu = Cpu(Provider::kLlamaCpp, {{"a GPU", 512 * kMiB}, {"another", 1}});
  gpu.target = Target::kVulkan;
  const std::vector<serving::EngineEntry> engines = {gpu};
  const auto plan = MakePlan("vulkan", engines, Model());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->gpu_layers, serving::GpuLayersThatFit(800 * kMiB, 16, 512 * kMiB));
  EXPECT_EQ(plan->kv_budget, 0);
  EXPECT_EQ(plan->kv_dtype, "fp16");
  EXPECT_EQ(plan->device.name, "a GPU") << "the first";
  EXPECT_EQ(plan->target, Target::kVulkan);
  EXPECT_EQ(plan->provider, Provider::kLlamaCpp);
}

TEST(QuickstartNumbers, AModelsPropertiesAreReadFromItsFile) {
  const auto model = ReadQuickstartModel(model::testing::DataPath("models/llama3.gguf"));
  ASSERT_TRUE(model) << model.error().message;
  const auto source = model::ModelSource::Open(model->path);
  const auto config = model::ReadModelConfig(**source);
  EXPECT_EQ(model->format, "gguf");
  EXPECT_EQ(model->native_error, "");
  EXPECT_EQ(model->weight_bytes, (*source)->WeightBytes());
  EXPECT_EQ(model->layers, config->layers);
  EXPECT_EQ(model->context, config->context);
  EXPECT_EQ(model->kv_token_values, int64_t{2} * config->layers * config->layer_kinds[0].kv.heads * config->head_dim);
  EXPECT_EQ(model->fp8_saves, 0);
  for (const char* name : {"gptq_act_order", "mlx_4", "mlx_8", "fp8"}) {
    const auto directory = ReadQuickstartModel(model::testing::DataPath(std::string("checkpoints/") + name + "-hf"));
    ASSERT_TRUE(directory) << directory.error().message;
    const auto stored = model::ModelSource::Open(directory->path);
    EXPECT_EQ(directory->format, "huggingface");
    EXPECT_EQ(directory->weight_bytes - directory->fp8_saves, (*stored)->WeightBytes({.fp8 = true})) << name;
    EXPECT_EQ(directory->weight_bytes - directory->affine_saves, (*stored)->WeightBytes({.affine = true})) << name;
    EXPECT_EQ(directory->weight_bytes - directory->ordered_saves, (*stored)->WeightBytes({.ordered = true})) << name;
    EXPECT_EQ(directory->ordered_saves > 0, std::string(name) == "gptq_act_order") << name;
  }
}

TEST(QuickstartYaml, EachLineSaysWhy) {
  EXPECT_EQ(
      ServerYaml({.backend = "cpu", .device = {"a device", 3 * 512 * kMiB}, .kv_dtype = "int8", .kv_budget = 5 * kMiB},
                 "/m/a.gguf"),
      R"(# Settings for this machine, by: inferctl quickstart --backend cpu
# Found: cpu (native) on a device, 1.5 GiB of memory free.
# config/server.yaml has every setting; inferfluxd --config THIS --print-config shows what each resolves to.

server:
  host: 127.0.0.1            # this machine alone; any other address needs server.api_keys_file
  port: 8080                 # 0 takes any free one

runtime:
  backend: cpu               # comes to cpu (native) here
  threads: 0                 # one a usable core
  kv_dtype: int8             # of keys and values; here also fp32, fp16, bf16, int8, fp8
  kv_budget: 5MiB            # half of what the weights leave free

models:                      # the first is the default one
- path: "/m/a.gguf"
  id: "a"
)");
  EXPECT_EQ(ServerYaml(
                {.backend = "vulkan", .target = Target::kVulkan, .provider = Provider::kLlamaCpp, .gpu_layers = 7}, ""),
            R"~(# Settings for this machine, by: inferctl quickstart --backend vulkan
# Found: vulkan (llama_cpp) on this machine.
# config/server.yaml has every setting; inferfluxd --config THIS --print-config shows what each resolves to.

server:
  host: 127.0.0.1            # this machine alone; any other address needs server.api_keys_file
  port: 8080                 # 0 takes any free one

runtime:
  backend: vulkan            # comes to vulkan (llama_cpp) here
  threads: 0                 # one a usable core
  kv_dtype: fp16             # of keys and values; here also fp32, fp16, bf16
  kv_budget: 0               # memory for keys and values; 0: from what is free
  llama_cpp:
    gpu_layers: 7            # layers on the GPU, by its free memory; -1: at each load

# Without a list of models the one that ships is served.
# models:
# - path: model.gguf        # a GGUF file or a Hugging Face directory, relative to this file
)~");
}

}  // namespace
}  // namespace inferflux::apps
