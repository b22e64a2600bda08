// What the resolved settings say of themselves, and what the environment and the flags may set.
#include "config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "config/resolve.h"

namespace inferflux::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<Settings> FromEnvironment(const Environment& environment) { return Resolve({}, environment); }

std::string ErrorOf(const Environment& environment) {
  const auto settings = FromEnvironment(environment);
  return settings ? "(no error)" : settings.error().message;
}

TEST(SettingsTest, DifferencesAreTheKeysAndListsThatChanged) {
  const auto before = FromEnvironment({{"INFERFLUX_MODELS", "a.gguf"}});
  EXPECT_THAT(before->Differences(*before), IsEmpty());
  const auto key = FromEnvironment({{"INFERFLUX_MODELS", "a.gguf"}, {"INFERFLUX_SERVER_PORT", "1"}});
  EXPECT_THAT(before->Differences(*key), ElementsAre("server.port"));
  const auto list =
      FromEnvironment({{"INFERFLUX_MODELS", "b.gguf"}, {"INFERFLUX_RUNTIME_BACKENDS", "[{backend: cpu}]"}});
  EXPECT_THAT(before->Differences(*list), ElementsAre("models", "runtime.backends"));
  const auto elsewhere = FromEnvironment({{"INFERFLUX_MODEL", "a.gguf"}, {"INFERFLUX_SERVER_PORT", "8080"}});
  EXPECT_THAT(before->Differences(*elsewhere), IsEmpty()) << "where it is set is no difference";
}

TEST(SettingsTest, BackendChangesAreWhatIsNotTheDefault) {
  EXPECT_EQ(FromEnvironment({})->backend_changes(), BackendConfig());
  const auto changed = FromEnvironment({{"INFERFLUX_RUNTIME_KV_BUDGET", "1KiB"},
                                        {"INFERFLUX_RUNTIME_REPACK", "false"},
                                        {"INFERFLUX_RUNTIME_LLAMA_CPP_BATCH", "7"},
                                        {"INFERFLUX_RUNTIME_CUDA_GRAPHS", "true"},
                                        {"INFERFLUX_RUNTIME_DEVICE", "2"}})
                           ->backend_changes();
  EXPECT_EQ(changed, (BackendConfig{.device = "2", .kv_budget = 1024, .repack = false, .batch = 7}));
  EXPECT_EQ(Describe(changed), "device: 2, kv_budget: 1024, repack: false, batch: 7");
  for (const BackendField& field : BackendFields()) {
    const bool expected =
        field.name == "device" || field.name == "kv_budget" || field.name == "repack" || field.name == "batch";
    EXPECT_EQ(field.IsSet(changed), expected) << field.name;
  }
  const BackendConfig merged = MergeBackendConfig({.device = "3", .repack = true}, changed);
  EXPECT_EQ(merged, (BackendConfig{.device = "3", .kv_budget = 1024, .repack = true, .batch = 7}));
}

TEST(SettingsTest, BackendDefaultsAreThoseOfTheSchema) {
  EXPECT_EQ(Describe(FromEnvironment({})->backend_defaults()),
            "device: -1, kv_dtype: fp16, kv_budget: 0, repack: true, mlx_requantise: false, cuda_graphs: true, "
            "cuda_streams: 1, rope_context: configured, tensor_parallel: 1, pipeline_parallel: 1, collectives: auto, "
            "gpu_layers: -1, batch: 0, micro_batch: 0, flash_attention: auto");
}

TEST(SettingsTest, ATextKnowsWhetherAFlagOrNothingSetIt) {
  FlagValues flags;
  const auto nothing = Resolve(flags, {});
  EXPECT_TRUE(nothing->IsDefault("server.host"));
  EXPECT_FALSE(nothing->IsFlag("server.host"));
  flags.values[KeyRef<Type::kText>("server.host").index] = "127.0.0.1";
  const auto flag = Resolve(flags, {});
  EXPECT_FALSE(flag->IsDefault("server.host"));
  EXPECT_TRUE(flag->IsFlag("server.host"));
}

TEST(SettingsTest, ASecretIsHiddenOnlyWhereItIsSet) {
  EXPECT_THAT(FromEnvironment({})->Describe(kServer), HasSubstr("server.api_key =   # default\n"));
  EXPECT_THAT(FromEnvironment({{"INFERFLUX_SERVER_API_KEY", "sk-x"}})->Describe(kServer),
              HasSubstr("server.api_key = (set, not shown)  # environment INFERFLUX_SERVER_API_KEY\n"));
}

TEST(EnvironmentTest, OnlyVariablesOfTheProjectAreRead) {
  const std::array<const char*, 6> variables = {"INFERFLUX_A=1=2", "INFERFLUX_EMPTY=",      "HOME=/root",
                                                "INFERFLUX_NONE",  "XINFERFLUX_SERVER=bad", nullptr};
  EXPECT_EQ(ReadEnvironment(variables.data()), (Environment{{"INFERFLUX_A", "1=2"}, {"INFERFLUX_EMPTY", ""}}));
  EXPECT_EQ(ReadEnvironment(nullptr), Environment());
}

TEST(EnvironmentTest, VariablesOfOthersAreLeftAlone) {
  EXPECT_EQ(ErrorOf({{"INFERFLUX_CPU_ISA", "avx2"},
                     {"INFERFLUX_CONFORMANCE_DIR", "/x"},
                     {"INFERFLUX_SERVICE_PORT", "1"},
                     {"INFERFLUX_PORT_8080_TCP", "x"}}),
            "(no error)");
  EXPECT_EQ(ErrorOf({{"INFERFLUX_" + std::string(20, 'Z'), "x"}}),
            "unknown environment variable INFERFLUX_" + std::string(20, 'Z'));
  EXPECT_EQ(ErrorOf({{"INFERFLUX_MODLES", "x"}}),
            "unknown environment variable INFERFLUX_MODLES; did you mean 'INFERFLUX_MODELS'?");
  EXPECT_EQ(ErrorOf({{"INFERFLUX_BACKEND_PRIORTY", "x"}}),
            "unknown environment variable INFERFLUX_BACKEND_PRIORTY; did you mean 'INFERFLUX_BACKEND_PRIORITY'?");
}

TEST(EnvironmentTest, TwoVariablesOfOneKeyAreAnError) {
  EXPECT_EQ(ErrorOf({{"INFERFLUX_BACKEND_PRIORITY", "cpu"}, {"INFERFLUX_RUNTIME_BACKEND_PRIORITY", "cpu"}}),
            "environment INFERFLUX_RUNTIME_BACKEND_PRIORITY and environment INFERFLUX_BACKEND_PRIORITY set the same "
            "key; set one of them");
}

TEST(EnvironmentTest, AVariableNamesTheFileUnlessAFlagDoes) {
  const std::string folder = ::testing::TempDir();
  const auto write = [&](const char* name, const char* text) {
    const std::string path = folder + name + std::to_string(::getpid());
    std::ofstream(path) << text;
    return path;
  };
  const std::string one = write("config_one", "server: {port: 1}"), two = write("config_two", "server: {port: 2}");
  EXPECT_EQ(Resolve({}, {{"INFERFLUX_CONFIG", one}})->Integer("server.port"), 1);
  FlagValues flags;
  flags.file = two;
  EXPECT_EQ(Resolve(flags, {{"INFERFLUX_CONFIG", one}})->Integer("server.port"), 2);
  std::filesystem::remove(one);
  std::filesystem::remove(two);
}

TEST(EnvironmentTest, HomeIsExpandedInTextsAndNowhereElse) {
  const auto settings = FromEnvironment({{"INFERFLUX_SERVER_TLS_CERT", "~/c"}, {"INFERFLUX_RUNTIME_BACKEND", "~/cpu"}});
  EXPECT_EQ(settings->Text("server.tls_cert"), std::string(std::getenv("HOME")) + "/c");
  EXPECT_EQ(settings->Words("runtime.backend"), "~/cpu");
}

// An option of a program, as its help and its manual have it.
const OptionDescription* Find(const CommandDescription& program, const std::string& name) {
  for (const OptionDescription& option : program.options) {
    for (const std::string& each : option.names) {
      if (each == name) return &option;
    }
  }
  return nullptr;
}

CommandDescription Offers(Program program) {
  CommandLine line("program", "does things");
  FlagValues values;
  AddFlags(line, program, values);
  return line.Describe();
}

TEST(FlagDescriptionTest, EachKindOfKeyHasItsPlaceholder) {
  const CommandDescription server = Offers(kServer);
  for (const auto& [name, value] : {std::pair{"--config", "FILE"},
                                    {"--model", "[ID=]FILE"},
                                    {"--served-model-name", "ID"},
                                    {"--port", "N"},
                                    {"--server-max-body-bytes", "SIZE"},
                                    {"--page", "true|false"},
                                    {"--server-allowed-hosts", "WORD,..."},
                                    {"--device", "N|UUID|PCI"},
                                    {"--host", "TEXT"},
                                    {"--server-api-keys-file", "FILE"},
                                    {"--models-dir", "DIR"},
                                    {"--workers-directory", "DIR"},
                                    {"--runtime-collectives", "auto|nccl|host"}}) {
    const OptionDescription* option = Find(server, name);
    ASSERT_NE(option, nullptr) << name;
    EXPECT_EQ(option->value, value) << name;
  }
}

TEST(FlagDescriptionTest, AFlagHasAllItsNamesAndItsDefault) {
  const CommandDescription server = Offers(kServer), worker = Offers(kWorker);
  EXPECT_THAT(Find(server, "--port")->names, ElementsAre("--server-port", "--port"));
  EXPECT_EQ(Find(server, "--port")->help, "port to listen on; 0 takes any free one [8080]");
  EXPECT_EQ(Find(server, "--tls-key")->help, "PEM file of the certificate's private key") << "no default";
  EXPECT_THAT(Find(server, "-c")->names,
              ElementsAre("--runtime-context", "--context", "-c", "--ctx-size", "--max-model-len"));
  EXPECT_THAT(Find(worker, "--worker-id")->names, ElementsAre("--worker-id")) << "both forms are one";
  EXPECT_THAT(Find(server, "--alias")->names, ElementsAre("--served-model-name", "-a", "--alias"));
}

TEST(FlagDescriptionTest, ModelsAreOfferedToTheProgramsThatRunThem) {
  for (const Program program : {kServer, kWorker}) EXPECT_NE(Find(Offers(program), "--model"), nullptr) << program;
  EXPECT_EQ(Find(Offers(kClient), "--model"), nullptr);
  EXPECT_EQ(Find(Offers(kClient), "--alias"), nullptr);
  EXPECT_NE(Find(Offers(kClient), "--config"), nullptr);
}

TEST(FlagDescriptionTest, ASwitchMayBeSetAsIfByAFlag) {
  FlagValues flags;
  SetSwitch("server.page", false, flags);
  const auto off = Resolve(flags, {});
  EXPECT_FALSE(off->Switch("server.page"));
  EXPECT_THAT(off->Describe(kServer), HasSubstr("server.page = false  # flag --page\n"));
  SetSwitch("server.open_metrics", true, flags);
  const auto on = Resolve(flags, {});
  EXPECT_TRUE(on->Switch("server.open_metrics"));
  EXPECT_THAT(on->Describe(kServer), HasSubstr("server.open_metrics = true  # flag --server-open-metrics\n"));
}

}  // namespace
}  // namespace inferflux::config
