// The lists of a configuration, models and runtime.backends: what each entry may say, and what is said of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "config/resolve.h"

namespace inferflux::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ModelListsTest : public ::testing::Test {
 protected:
  ModelListsTest()
      : folder_(std::filesystem::temp_directory_path() / ("inferflux_lists_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    flags_.file = (folder_ / "c.yaml").string();
  }
  ~ModelListsTest() override { std::filesystem::remove_all(folder_); }

  Result<Settings> Read(std::string_view text) const {
    std::ofstream(flags_.file) << text;
    return Resolve(flags_, environment_);
  }
  // The error without the file's folder: "c.yaml:2: ...".
  std::string ErrorOf(std::string_view text) const {
    const auto settings = Read(text);
    if (settings) return "(no error)";
    const std::string prefix = folder_.string() + "/", message = settings.error().message;
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }
  std::string ErrorOfModels(const char* variable, const char* text) {
    environment_ = {{variable, text}};
    return ErrorOf("");
  }

  std::filesystem::path folder_;
  FlagValues flags_;
  Environment environment_;
};

// The lines of a description that begin with `prefix`.
std::vector<std::string> LinesOf(const Settings& settings, std::string_view prefix) {
  std::vector<std::string> out;
  const std::string all = settings.Describe(kServer);
  for (std::string_view text = all; !text.empty(); text.remove_prefix(text.find('\n') + 1)) {
    if (text.starts_with(prefix)) out.emplace_back(text.substr(0, text.find('\n')));
  }
  return out;
}

TEST_F(ModelListsTest, EveryFieldOfAModelIsDescribedWithItsPlace) {
  const auto settings = Read(
      "models:\n"
      "- {path: a.gguf}\n"
      "- {id: b, path: /m/b, draft: small.gguf, default: true, keep_alive: 60, context: 4096, backend: cpu, "
      "format: huggingface, kv_dtype: int8}\n"
      "- {path: /m/c, keep_alive: -1}\n"
      "- {path: /m/d, draft: /m/e}\n"
      "- {path: /m/f, format: auto}\n"
      "runtime: {backends: [{backend: cpu, repack: false, kv_budget: 1KiB}, {backend: cuda}]}\n");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  const std::string here = folder_.string(), at = "}  # " + flags_.file;
  EXPECT_THAT(
      LinesOf(*settings, "models["),
      ElementsAre("models[0] = {id: a, path: " + here + "/a.gguf, default: false, context: 0, backend: " + at + ":2",
                  "models[1] = {id: b, path: /m/b, default: true, context: 4096, backend: cpu, keep_alive: 60, "
                  "kv_dtype: int8, draft: " +
                      here + "/small.gguf, format: huggingface" + at + ":3",
                  "models[2] = {id: c, path: /m/c, default: false, context: 0, backend: , keep_alive: -1" + at + ":4",
                  "models[3] = {id: d, path: /m/d, default: false, context: 0, backend: , draft: /m/e" + at + ":5",
                  "models[4] = {id: f, path: /m/f, default: false, context: 0, backend: , format: auto" + at + ":6"));
  EXPECT_THAT(LinesOf(*settings, "runtime.backends["),
              ElementsAre("runtime.backends[0] = {backend: cpu, kv_budget: 1024, repack: false" + at + ":7",
                          "runtime.backends[1] = {backend: cuda" + at + ":7"));
  EXPECT_THAT(settings->Describe(kWorker), HasSubstr("models[4]"));
  EXPECT_EQ(settings->Describe(kClient).find("models["), std::string::npos);
}

TEST_F(ModelListsTest, NumbersOfAModelReachFromTheLeastToTheMost) {
  const auto model = [&](const std::string& field) { return Read("models: [{path: a, " + field + "}]"); };
  EXPECT_EQ(model("context: 1")->models()[0].context, 1);
  EXPECT_EQ(model("context: 16777216")->models()[0].context, 16777216);
  EXPECT_EQ(model("keep_alive: -1")->models()[0].keep_alive, -1);
  EXPECT_EQ(model("keep_alive: 31536000")->models()[0].keep_alive, 31536000);
  EXPECT_EQ(Read("models: [{path: a}]")->models()[0].keep_alive, std::nullopt);
  for (const auto& [field, message] :
       {std::pair{"context: 0", "models.context = '0' ({}): it must be an integer from 1 to 16777216"},
        {"context: 16777217", "models.context = '16777217' ({}): it must be an integer from 1 to 16777216"},
        {"keep_alive: -2", "models.keep_alive = '-2' ({}): it must be an integer from -1 to 31536000"},
        {"keep_alive: 31536001", "models.keep_alive = '31536001' ({}): it must be an integer from -1 to 31536000"},
        {"default: yes", "models.default = 'yes' ({}): it must be true or false"},
        {"format: onnx", "models.format = 'onnx' ({}): it must be one of auto|gguf|huggingface"},
        {"device: -2",
         "models.device = '-2' ({}): it must be a number from -1 to 1023, a UUID, a PCI address or a name"}}) {
    EXPECT_EQ(ErrorOf("models: [{path: a, " + std::string(field) + "}]"),
              fmt::format(fmt::runtime(message), flags_.file + ":1"));
  }
}

TEST_F(ModelListsTest, AWrongEntryIsNamedWithItsLine) {
  for (const auto& [text, message] :
       {std::pair{"models:\n- {path: [a]}", "c.yaml:2: 'models.path' must be one value"},
        {"models:\n- {path: a, backend: [cpu, [cuda]]}", "c.yaml:2: 'models.backend' must be a list of words"},
        {"models:\n- {path: a, path: b}", "c.yaml:2: 'models.path' is set twice"},
        {"models:\n- {path: a,\n   contxt: 1}", "c.yaml:3: unknown key 'models.contxt'; did you mean 'context'?"},
        {"models:\n- {path: a,\n   kv_dtyp: 1}", "c.yaml:3: unknown key 'models.kv_dtyp'; did you mean 'kv_dtype'?"},
        {"models:\n- {path: a, zzzzzzzzzzzz: 1}", "c.yaml:2: unknown key 'models.zzzzzzzzzzzz'"},
        {"models:\n- {id: a}", "c.yaml:2: a model needs a 'path'"},
        {"models:\n- a.gguf", "c.yaml:2: an entry of 'models' must be a map with a 'path'"},
        {"models: a.gguf", "c.yaml:1: 'models' must be a list"},
        {"runtime: {backends: cpu}", "c.yaml:1: 'runtime.backends' must be a list"},
        {"runtime:\n  backends:\n  - cpu", "c.yaml:3: an entry of 'runtime.backends' must be a map with a 'backend'"},
        {"runtime:\n  backends:\n  - {device: 1}", "c.yaml:3: an entry of 'runtime.backends' needs a 'backend'"},
        {"runtime:\n  backends:\n  - {backend: [cpu]}", "c.yaml:3: 'runtime.backends.backend' must be one value"},
        {"models:\n- {path: a.gguf}\n- {path: x/a.gguf}",
         "c.yaml:3: the model id 'a' is used twice; give one of them another id"},
        {"models:\n- {path: a, default: true}\n- {path: b}\n- {path: c, default: true}",
         "c.yaml:4: both 'a' and 'c' are the default model; only one can be"}}) {
    EXPECT_EQ(ErrorOf(text), message) << text;
  }
}

TEST_F(ModelListsTest, AWrongKeyOfAFileIsNamedWithItsLine) {
  for (const auto& [text, message] :
       {std::pair{"- 1", "c.yaml:1: '' must be a map of settings"},
        {"server:\n  5", "c.yaml:2: 'server' must be a map of settings"},
        {"server:\n  port: [1]", "c.yaml:2: 'server.port' must be one value"},
        {"server:\n  port: 1\n  port: 2", "c.yaml:3: 'server.port' is set twice"},
        {"runtime:\n  backend: [cpu, {a: b}]", "c.yaml:2: 'runtime.backend' must be a list of words"},
        {"runtime:\n  backend: {a: b}", "c.yaml:2: 'runtime.backend' must be one value"},
        {"runtime:\n  llama_cpp: {bach: 1}",
         "c.yaml:2: unknown key 'runtime.llama_cpp.bach'; did you mean 'runtime.llama_cpp.batch'?"},
        {"model: []", "c.yaml:1: unknown key 'model'; did you mean 'models'?"},
        {"runtime:\n  backnds: []", "c.yaml:2: unknown key 'runtime.backnds'; did you mean 'runtime.backends'?"},
        {"runtime:\n  bckends: []", "c.yaml:2: unknown key 'runtime.bckends'; did you mean 'runtime.backends'?"},
        {"serve:\n  port: 1", "c.yaml:1: unknown key 'serve'"}}) {
    EXPECT_EQ(ErrorOf(text), message) << text;
  }
  EXPECT_THAT(ErrorOf("a: ["), ::testing::StartsWith("c.yaml: yaml-cpp: error at line"));
  EXPECT_EQ(ErrorOf("runtime: {backend: [cpu]}\n"), "(no error)");
  flags_.file = folder_.string();
  const auto folder = Resolve(flags_, environment_);
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().message, "no configuration file " + folder_.string());
}

TEST_F(ModelListsTest, PathsOfAFileMayBeginAtHome) {
  const std::string home = std::getenv("HOME");
  const auto settings = Read("models: [{path: ~/a.gguf, draft: ~/b.gguf}]\nserver: {tls_cert: ~/c, page: true}\n");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->models()[0].path, home + "/a.gguf");
  EXPECT_EQ(settings->models()[0].draft, home + "/b.gguf");
  EXPECT_EQ(settings->Text("server.tls_cert"), home + "/c");
  EXPECT_EQ(Read("server: {tls_cert: ~c}")->Text("server.tls_cert"), "~c");
}

TEST_F(ModelListsTest, AModelInAVariableIsOneOrSeveral) {
  environment_ = {{"INFERFLUX_MODEL", "x=/m/a,b.gguf"}};
  const auto one = Read("");
  ASSERT_TRUE(one.has_value()) << one.error().message;
  ASSERT_EQ(one->models().size(), 1u);
  EXPECT_EQ(one->models()[0].id, "x");
  EXPECT_EQ(one->models()[0].path, "/m/a,b.gguf");
  EXPECT_EQ(one->models()[0].origin, "environment INFERFLUX_MODEL");
  environment_ = {{"INFERFLUX_MODELS", "a.gguf,"}};
  EXPECT_EQ(Read("")->models().size(), 1u);
  environment_ = {{"INFERFLUX_MODELS", ""}};
  EXPECT_THAT(Read("models: [{path: a}]")->models(), IsEmpty()) << "a variable replaces the file's";
  environment_ = {{"INFERFLUX_MODEL", "a"}, {"INFERFLUX_MODELS", "b"}};
  EXPECT_EQ(ErrorOf(""), "INFERFLUX_MODEL and INFERFLUX_MODELS are both set; set one of them");
  const std::string from = "environment INFERFLUX_MODELS: ";
  EXPECT_EQ(ErrorOfModels("INFERFLUX_MODELS", "a,,b"), from + "a model needs the path of its file or directory");
  EXPECT_EQ(ErrorOfModels("INFERFLUX_MODELS", "x="), from + "a model needs the path of its file or directory");
  EXPECT_EQ(ErrorOfModels("INFERFLUX_MODELS", "=a"), from + "the id before '=' is empty");
  EXPECT_EQ(ErrorOfModels("INFERFLUX_RUNTIME_BACKENDS", "[{device: 1}]"),
            "environment INFERFLUX_RUNTIME_BACKENDS:1: an entry of 'runtime.backends' needs a 'backend'");
  EXPECT_THAT(ErrorOfModels("INFERFLUX_RUNTIME_BACKENDS", "["),
              ::testing::StartsWith("environment INFERFLUX_RUNTIME_BACKENDS: yaml-cpp: error at line"));
}

TEST_F(ModelListsTest, TheFlagsModelsNameTheirErrors) {
  const auto error = [&](std::vector<std::string> models, const char* name) {
    flags_.models = std::move(models);
    flags_.served_name = name;
    return ErrorOf("");
  };
  EXPECT_EQ(error({"a/x.gguf", "b/x.gguf"}, ""),
            "flag --model: the model id 'x' is used twice; give one of them another id");
  EXPECT_EQ(error({""}, ""), "flag --model: a model needs the path of its file or directory");
  EXPECT_EQ(error({}, "n"),
            "flag --served-model-name: it names one model, and there are 0; write --model ID=FILE for each");
  EXPECT_EQ(error({"a"}, "n"), "(no error)");
  EXPECT_EQ(Resolve(flags_, environment_)->models()[0].id, "n");
}

}  // namespace
}  // namespace inferflux::config
