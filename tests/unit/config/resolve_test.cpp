#include "config/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace inferflux::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

size_t Row(std::string_view name) {
  for (size_t i = 0; i < kKeyCount; ++i) {
    if (kSchema[i].name == name) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}

class ResolveTest : public ::testing::Test {
 protected:
  ResolveTest()
      : folder_(std::filesystem::temp_directory_path() / ("inferflux_config_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ResolveTest() override { std::filesystem::remove_all(folder_); }

  void WriteFile(std::string_view text) {
    flags_.file = (folder_ / "c.yaml").string();
    std::ofstream(flags_.file) << text;
  }
  std::string ErrorOf() {
    const auto settings = Resolve(flags_, environment_);
    return settings ? "(no error)" : settings.error().message;
  }

  std::filesystem::path folder_;
  FlagValues flags_;
  Environment environment_;
};

TEST_F(ResolveTest, EveryDefaultIsValid) {
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->Text("server.host"), "127.0.0.1") << "the default bind is loopback";
  EXPECT_EQ(settings->Integer("server.port"), 8080);
  EXPECT_EQ(settings->Bytes("server.max_body_bytes"), 32 << 20);
  EXPECT_TRUE(settings->Switch("runtime.backend_exposure.prefer_native"));
  EXPECT_TRUE(settings->models().empty());
}

TEST_F(ResolveTest, BackendsAreWordsOrAList) {
  WriteFile(
      "runtime: {backend_priority: [cuda, cpu]}\nmodels:\n- {path: a.gguf, backend: [mlx, cpu], kv_dtype: fp32}\n");
  auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->Words("runtime.backend_priority"), "cuda,cpu");
  EXPECT_EQ(settings->models()[0].backend, "mlx,cpu");
  EXPECT_EQ(settings->models()[0].config.kv_dtype, "fp32");
  environment_ = {{"INFERFLUX_BACKEND_PRIORITY", "vulkan, cpu"}};
  settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->Words("runtime.backend_priority"), "vulkan, cpu");
}

TEST_F(ResolveTest, TheShortVariablesSetTheirKeys) {
  environment_ = {{"INFERFLUX_BACKEND_PREFER_NATIVE", "false"}, {"INFERFLUX_MODELS", "a=/m/x.gguf,/m/y.gguf"}};
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_FALSE(settings->Switch("runtime.backend_exposure.prefer_native"));
  ASSERT_EQ(settings->models().size(), 2u);
  EXPECT_EQ(settings->models()[0].id, "a");
  EXPECT_EQ(settings->models()[1].id, "y");
  environment_["INFERFLUX_RUNTIME_BACKEND_EXPOSURE_PREFER_NATIVE"] = "true";
  EXPECT_THAT(ErrorOf(), HasSubstr("INFERFLUX_BACKEND_PREFER_NATIVE")) << "two that disagree are not drafted between";
}

TEST_F(ResolveTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  WriteFile("server: {port: 1, io_threads: 3, host: 0.0.0.0}\n");
  environment_ = {{"INFERFLUX_SERVER_PORT", "2"}, {"INFERFLUX_SERVER_IO_THREADS", "4"}};
  flags_.values[Row("server.port")] = "5";
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->Integer("server.port"), 5);
  EXPECT_EQ(settings->Integer("server.io_threads"), 4);
  EXPECT_EQ(settings->Text("server.host"), "0.0.0.0");
  const std::string described = settings->Describe(kServer);
  EXPECT_THAT(described, HasSubstr("server.port = 5  # flag --port\n"));
  EXPECT_THAT(described, HasSubstr("server.io_threads = 4  # environment INFERFLUX_SERVER_IO_THREADS\n"));
  EXPECT_THAT(described, HasSubstr("server.host = 0.0.0.0  # " + flags_.file + ":1\n"));
  EXPECT_THAT(described, HasSubstr("log.level = info  # default\n"));
}

TEST_F(ResolveTest, UnknownKeysAreErrorsThatNameThemAndSuggest) {
  WriteFile("server:\n  prot: 1\n");
  EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("c.yaml:2"), HasSubstr("'server.prot'"), HasSubstr("'server.port'")));
  WriteFile("frobnicate: 1\n");
  EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("'frobnicate'"), Not(HasSubstr("did you mean"))));
  WriteFile("");
  environment_ = {{"INFERFLUX_SERVER_PROT", "1"}};
  EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("INFERFLUX_SERVER_PROT"), HasSubstr("'INFERFLUX_SERVER_PORT'")));
}

TEST_F(ResolveTest, VariablesOfOthersAreLeftAlone) {
  environment_ = {
      {"INFERFLUX_CPU_ISA", "avx2"}, {"INFERFLUX_SERVICE_HOST", "10.0.0.1"}, {"INFERFLUX_PORT", "tcp://10.0.0.1:80"}};
  EXPECT_EQ(ErrorOf(), "(no error)");
}

TEST_F(ResolveTest, ValuesOutOfRangeNameTheKeyTheOriginAndTheRange) {
  for (const char* bad : {"65536", "-1", "x", "", "1.5", "99999999999999999999"}) {
    environment_ = {{"INFERFLUX_SERVER_PORT", bad}};
    EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("server.port"), HasSubstr("INFERFLUX_SERVER_PORT"), HasSubstr("0 to 65535")))
        << bad;
  }
  environment_ = {{"INFERFLUX_RUNTIME_KV_DTYPE", "fp64"}};
  EXPECT_THAT(ErrorOf(), HasSubstr("fp32|fp16|bf16|int8|fp8"));
  environment_ = {{"INFERFLUX_RUNTIME_BACKEND_EXPOSURE_PREFER_NATIVE", "yes"}};
  EXPECT_THAT(ErrorOf(), HasSubstr("true or false"));
}

TEST_F(ResolveTest, SizesTakeUnitsAndDoNotOverflow) {
  environment_ = {{"INFERFLUX_RUNTIME_KV_BUDGET", "3 GiB"}};
  EXPECT_EQ(Resolve(flags_, environment_)->Bytes("runtime.kv_budget"), int64_t{3} << 30);
  environment_ = {{"INFERFLUX_RUNTIME_KV_BUDGET", "9999999999999GiB"}};
  EXPECT_THAT(ErrorOf(), HasSubstr("runtime.kv_budget"));
}

TEST_F(ResolveTest, ModelsOfAFileLieBesideIt) {
  WriteFile("models:\n- {path: a/b.gguf}\n- {id: other, path: /abs.gguf, default: true, context: 4096}\n");
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  ASSERT_EQ(settings->models().size(), 2u);
  EXPECT_EQ(settings->models()[0].id, "b");
  EXPECT_EQ(settings->models()[0].path, (folder_ / "a/b.gguf").string());
  EXPECT_EQ(settings->models()[1].path, "/abs.gguf");
  EXPECT_TRUE(settings->models()[1].is_default);
  EXPECT_EQ(settings->models()[1].context, 4096);
}

TEST_F(ResolveTest, ModelsAndBackendsSayWhatTheyRunWith) {
  WriteFile(
      "runtime:\n"
      "  kv_dtype: bf16\n"
      "  llama_cpp: {batch: 64, flash_attention: on}\n"
      "  backends:\n"
      "  - {backend: llama_cpp_cuda, device: 1, gpu_layers: 20, kv_budget: 2GiB}\n"
      "  - {backend: cpu, repack: false}\n"
      "  - {backend: native_cuda, cuda_graphs: false, cuda_streams: 2, collectives: host}\n"
      "models:\n"
      "- {path: a.gguf, format: gguf, device: 0, flash_attention: off, gpu_layers: -1, mlx_requantise: true, "
      "rope_context: original}\n");
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  const BackendConfig all = settings->backend_defaults();
  EXPECT_EQ(all.device, "-1");
  EXPECT_EQ(all.kv_dtype, "bf16");
  EXPECT_EQ(all.batch, 64);
  EXPECT_EQ(all.flash_attention, "on");
  ASSERT_EQ(settings->backends().size(), 3u);
  const BackendConfig& cuda = settings->backends()[0].config;
  EXPECT_EQ(settings->backends()[0].backend, "llama_cpp_cuda");
  EXPECT_EQ(settings->backends()[0].origin, flags_.file + ":5");
  EXPECT_EQ(cuda.device, "1");
  EXPECT_EQ(cuda.gpu_layers, 20);
  EXPECT_EQ(cuda.kv_budget, int64_t{2} << 30);
  EXPECT_FALSE(cuda.kv_dtype) << "left to what holds for all";
  EXPECT_EQ(settings->backends()[1].config.repack, false);
  EXPECT_EQ(all.cuda_graphs, true);
  EXPECT_EQ(settings->backends()[2].config.cuda_graphs, false);
  EXPECT_EQ(settings->backends()[2].config.cuda_streams, 2);
  EXPECT_EQ(all.collectives, "auto");
  EXPECT_EQ(settings->backends()[2].config.collectives, "host");
  const ModelSetting& model = settings->models()[0];
  EXPECT_EQ(model.format, "gguf");
  EXPECT_EQ(model.config.device, "0");
  EXPECT_EQ(model.config.gpu_layers, -1);
  EXPECT_EQ(model.config.mlx_requantise, true);
  EXPECT_EQ(MergeBackendConfig(model.config, all).flash_attention, "off");
  EXPECT_EQ(MergeBackendConfig(model.config, all).kv_dtype, "bf16");
  const std::string described = settings->Describe(kServer);
  EXPECT_THAT(described, HasSubstr("runtime.backends[0] = {backend: llama_cpp_cuda, device: 1, kv_budget: 2147483648, "
                                   "gpu_layers: 20}  # " +
                                   flags_.file + ":5\n"));
  EXPECT_THAT(described, HasSubstr("device: 0, mlx_requantise: true, rope_context: original, "
                                   "gpu_layers: -1, flash_attention: off, format: gguf}"));
}

TEST_F(ResolveTest, AVariableMayHoldTheMapsOfAFile) {
  environment_ = {
      {"INFERFLUX_MODELS", "[{path: m/a.gguf, context: 512, default: true}, {id: b, path: /m/b, kv_dtype: int8}]"},
      {"INFERFLUX_RUNTIME_BACKENDS", "[{backend: vulkan, device: 1}]"}};
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  ASSERT_EQ(settings->models().size(), 2u);
  EXPECT_EQ(settings->models()[0].path, "m/a.gguf") << "relative to where the program runs";
  EXPECT_EQ(settings->models()[0].context, 512);
  EXPECT_EQ(settings->models()[1].id, "b");
  EXPECT_EQ(settings->models()[1].config.kv_dtype, "int8");
  EXPECT_EQ(settings->backends()[0].config.device, "1");
  for (const auto& [text, message] : {std::pair{"[{path: a.gguf, contxt: 1}]", "did you mean 'context'"},
                                      {"[{path: a.gguf", "INFERFLUX_MODELS"},
                                      {"[a.gguf]", "must be a map"}}) {
    environment_ = {{"INFERFLUX_MODELS", text}};
    EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("environment INFERFLUX_MODELS"), HasSubstr(message))) << text;
  }
}

TEST_F(ResolveTest, ADeviceIsANumberOrAWord) {
  WriteFile(
      "runtime:\n  backends:\n  - {backend: cuda, device: 0000:c1:00.0}\n"
      "  - {backend: vulkan, device: AMD Radeon RX 7900}\n  - {backend: cpu, device: \"\"}\n");
  environment_ = {{"INFERFLUX_RUNTIME_DEVICE", "GPU-8a2f1c3e-0000-4444-9999-0123456789ab"}};
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->backend_defaults().device, "GPU-8a2f1c3e-0000-4444-9999-0123456789ab");
  EXPECT_EQ(settings->backends()[0].config.device, "0000:c1:00.0");
  EXPECT_EQ(settings->backends()[1].config.device, "AMD Radeon RX 7900");
  EXPECT_EQ(settings->backends()[2].config.device, "");
  for (const std::string& wrong : {std::string("-2"), std::string("99999999999999999999"), std::string(257, 'x')}) {
    environment_ = {{"INFERFLUX_RUNTIME_DEVICE", wrong}};
    EXPECT_THAT(ErrorOf(), HasSubstr("runtime.device")) << wrong;
  }
}

TEST_F(ResolveTest, WhatABackendCannotBeGivenIsAnErrorWithItsLine) {
  for (const auto& [text, message] : {std::pair{"{backend: cpu, colour: 1}", "unknown key 'runtime.backends.colour'"},
                                      {"{backend: cpu, divice: 1}", "did you mean 'device'"},
                                      {"{backend: cpu, device: -2}", "runtime.backends.device = '-2'"},
                                      {"{backend: cpu, device: 1024}", "a number from -1 to 1023, a UUID"},
                                      {"{backend: cpu, kv_dtype: fp64}", "fp32|fp16|bf16|int8|fp8"},
                                      {"{backend: cpu, device: 0, device: 1}", "set twice"},
                                      {"{device: 1}", "needs a 'backend'"},
                                      {"cpu", "must be a map with a 'backend'"}}) {
    WriteFile("runtime:\n  backends:\n  - " + std::string(text) + "\n");
    EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("c.yaml:3"), HasSubstr(message))) << text;
  }
}

TEST_F(ResolveTest, ModelFlagsReplaceTheFilesModels) {
  WriteFile("models: [{path: a.gguf}]\n");
  flags_.models = {"x=/m/one.gguf", "/m/a=b.gguf"};
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  ASSERT_EQ(settings->models().size(), 2u);
  EXPECT_EQ(settings->models()[0].id, "x");
  EXPECT_EQ(settings->models()[1].id, "a=b") << "an '=' after a slash is part of the path";
}

TEST_F(ResolveTest, DirectoriesKeepTheDotsOfTheirNames) {
  flags_.models = {"/m/Qwen2.5-0.5B/", "/m/Qwen3-0.6B", "/m/tiny.Q4_K.gguf"};
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->models()[0].id, "Qwen2.5-0.5B");
  EXPECT_EQ(settings->models()[1].id, "Qwen3-0.6B");
  EXPECT_EQ(settings->models()[2].id, "tiny.Q4_K");
}

TEST_F(ResolveTest, ContradictingModelsAreErrors) {
  for (const auto& [text, message] : {std::pair{"models: [{path: a.gguf}, {path: x/a.gguf}]", "used twice"},
                                      {"models: [{path: a, default: true}, {path: b, default: true}]", "only one"},
                                      {"models: [{id: a}]", "needs a 'path'"},
                                      {"models: [{path: a, contxt: 1}]", "did you mean 'context'"},
                                      {"models: [{path: a, context: 0}]", "1 to"},
                                      {"models: {path: a}", "must be a list"},
                                      {"models: [a]", "must be a map"}}) {
    WriteFile(text);
    EXPECT_THAT(ErrorOf(), HasSubstr(message)) << text;
  }
}

TEST_F(ResolveTest, BrokenFilesAreErrorsThatNameThem) {
  for (const char* bad :
       {"a: [", "- 1", "server: 5", "server: {port: [1]}", "server: {port: 1, port: 2}", "just text"}) {
    WriteFile(bad);
    EXPECT_THAT(ErrorOf(), HasSubstr("c.yaml")) << bad;
  }
  flags_.file = "/nonexistent/x.yaml";
  EXPECT_THAT(ErrorOf(), HasSubstr("/nonexistent/x.yaml"));
}

TEST_F(ResolveTest, SecretsAreNotPrinted) {
  environment_ = {{"INFERFLUX_CLIENT_API_KEY", "sk-hush"}};
  const auto settings = Resolve(flags_, environment_);
  ASSERT_TRUE(settings.has_value());
  EXPECT_THAT(settings->Describe(kClient), AllOf(HasSubstr("client.api_key"), Not(HasSubstr("sk-hush"))));
}

}  // namespace
}  // namespace inferflux::config
