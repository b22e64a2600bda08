// A file that our own engines refuse and llama.cpp accepts: the bundled model under the name of an architecture that
// has the same layers but that we do not support.
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/thread_pool.h"
#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "serving/backends/built_in_engines.h"
#include "serving/backends/device_choice.h"
#include "serving/backends/llama_engines.h"
#include "serving/backends/llama_targets.h"
#include "serving/models/load_model.h"

namespace inferflux::serving {
namespace {

constexpr char kArchitecture[] = "xverse";
const std::string kModel = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";

class LlamaFallback : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    path = (std::filesystem::temp_directory_path() / fmt::format("inferflux_xverse_{}.gguf", ::getpid())).string();
    const auto file = formats::GgufFile::Open(kModel);
    ASSERT_TRUE(file) << file.error().message;
    std::ofstream out(path, std::ios::binary);
    formats::GgufWriter writer(out);
    std::vector<std::string> keys;  // must outlive the entries that name them
    keys.reserve((*file)->metadata().entries().size());
    for (formats::GgufEntry entry : (*file)->metadata().entries()) {
      if (entry.key.starts_with("llama.")) {
        entry.key = keys.emplace_back(std::string(kArchitecture) + "." + std::string(entry.key.substr(6)));
      }
      writer.Copy(entry);
    }
    writer.Set("general.architecture", kArchitecture);
    // The architecture requires a separate output matrix.
    std::vector<std::pair<std::string, const formats::GgufTensor*>> tensors;
    for (const auto& tensor : (*file)->tensors()) tensors.emplace_back(tensor.name, &tensor);
    tensors.emplace_back("output.weight", (*file)->FindTensor("token_embd.weight"));
    for (const auto& [name, tensor] : tensors) {
      ASSERT_TRUE(writer.AddTensor(name, tensor->type, std::span(tensor->dims).first(tensor->rank)));
    }
    ASSERT_TRUE(writer.WriteHeader());
    for (const auto& [name, tensor] : tensors) ASSERT_TRUE(writer.WriteData(tensor->data));
    ASSERT_TRUE(writer.Finish());
  }
  static void TearDownTestSuite() { std::filesystem::remove(path); }

  static Result<std::shared_ptr<const ServedModel>> Load(const std::string& file, const std::string& backend,
                                                         ExposurePolicy policy) {
    ThreadPool& pool = Pool();
    const BackendFactory factory(BuiltInEngines(pool), policy);
    return LoadModel(factory,
                     {.id = "m", .path = file, .requested_backend = backend, .config = {.kv_budget = 32 << 20}});
  }

  static std::string Answer(const ServedModel& model) {
    scheduler::GenerationRequest request{.sampling = {.temperature = 0.0f}, .max_tokens = 16};
    const boost::json::object context = {
        {"messages",
         boost::json::array{boost::json::object{{"role", "user"}, {"content", "What is the capital of France?"}}}},
        {"add_generation_prompt", true}};
    request.prompt = model.tokenizer->Encode(*model.chat_template->Render(context));
    const auto stream = model.scheduler->Submit(request);
    EXPECT_TRUE(stream) << stream.error().message;
    std::string text;
    for (int wait = 0; wait < 60000; ++wait) {
      while (auto event = (*stream)->TryPop()) {
        text += event->text;
        if (event->finish) return text;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return text + " ... and no end";
  }

  static ThreadPool& Pool() {
    static ThreadPool pool(2);
    return pool;
  }

  static inline std::string path;
};

TEST_F(LlamaFallback, ServesWhatOurOwnEnginesRefuseAndSaysSo) {
  const auto model = Load(path, "auto", {});
  ASSERT_TRUE(model) << model.error().message;
  const BackendExposure& exposure = (*model)->exposure;
  EXPECT_EQ(exposure.requested_backend, "auto");
  EXPECT_EQ(exposure.exposed_backend, "cpu");
  EXPECT_EQ(exposure.provider, "llama_cpp");
  EXPECT_TRUE(exposure.fallback);
  EXPECT_NE(exposure.fallback_reason.find("architecture 'xverse' is not supported"), std::string::npos)
      << exposure.fallback_reason;
  ASSERT_GE(exposure.attempts.size(), 2u);
  EXPECT_EQ(exposure.attempts.end()[-2].outcome, "failed");
  EXPECT_EQ(exposure.attempts.back().outcome, "loaded");
  EXPECT_NE(Answer(**model).find("Paris"), std::string::npos);
}

TEST_F(LlamaFallback, IsNotTakenWhereItIsForbidden) {
  const auto model = Load(path, "auto", {.allow_llama_fallback = false});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(model.error().message.find("architecture 'xverse'"), std::string::npos) << model.error().message;
  EXPECT_NE(model.error().message.find("allow_llama_fallback is off"), std::string::npos) << model.error().message;
}

TEST_F(LlamaFallback, IsAskedForByName) {
  const auto model = Load(kModel, "llama_cpp_cpu", {.allow_llama_fallback = false});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->exposure.provider, "llama_cpp");
  EXPECT_FALSE((*model)->exposure.fallback);
  EXPECT_NE(Answer(**model).find("Paris"), std::string::npos);
}

TEST_F(LlamaFallback, ItsSettingsReachTheLibrary) {
  const auto source = model::ModelSource::Open(kModel);
  ASSERT_TRUE(source);
  const auto engines = LlamaEngines(Pool());
  const auto cpu = std::ranges::find(engines, Target::kCpu, &EngineEntry::target);
  ASSERT_TRUE(cpu != engines.end() && cpu->make);
  const auto made = [&](BackendConfig config, int32_t context = 256) {
    config.kv_budget = config.kv_budget.value_or(8 << 20);
    return cpu->make({.source = *source, .context = context, .config = std::move(config), .stop = {}});
  };
  const auto plain = made({});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ((*plain)->info().context, 256);
  EXPECT_EQ((*plain)->info().kv_dtype, "fp16");
  const auto wide = made({.kv_dtype = "fp32", .tensor_parallel = 1, .pipeline_parallel = 1});
  ASSERT_TRUE(wide) << wide.error().message;
  EXPECT_EQ((*wide)->info().kv_dtype, "fp32");
  EXPECT_LT((*wide)->info().kv_tokens, (*plain)->info().kv_tokens) << "in the same memory";
  for (const BackendConfig& shared : {BackendConfig{.tensor_parallel = 2}, BackendConfig{.pipeline_parallel = 2}}) {
    const auto refused = made(shared);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "llama.cpp shares no model between processes (runtime.tensor_parallel, runtime.pipeline_parallel)");
  }
  EXPECT_FALSE(made({.device = "7"}));
  EXPECT_TRUE(cpu->self_test(kAnyDevice));
  EXPECT_EQ(engines.size(), kLlamaTargets.size());
}

TEST_F(LlamaFallback, ADeviceThatIsNotThereIsRefusedWithTheReason) {
  const auto model = Load(kModel, "llama_cpp_opencl", {});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("no opencl device"), std::string::npos) << model.error().message;
}

}  // namespace
}  // namespace inferflux::serving
