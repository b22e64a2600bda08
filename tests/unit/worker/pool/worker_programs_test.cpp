#include "worker/pool/worker_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace inferflux::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

TEST(WorkerPrograms, AreNamedAfterWhatTheyRun) {
  using serving::Provider, serving::Target;
  EXPECT_EQ(ProgramSuffix(Target::kCpu, Provider::kNative), "cpu");
  EXPECT_EQ(ProgramSuffix(Target::kCpu, Provider::kLlamaCpp), "llama");
  EXPECT_EQ(ProgramSuffix(Target::kCuda, Provider::kLlamaCpp), "llama");
  EXPECT_EQ(ProgramSuffix(Target::kCuda, Provider::kNative), "cuda");
  EXPECT_EQ(ProgramSuffix(Target::kMlx, Provider::kNative), "mlx");
  EXPECT_EQ(ProgramSuffix(Target::kMps, Provider::kNative), "mlx") << "one library for both";
  EXPECT_EQ(ProgramSuffix(Target::kRocm, Provider::kNative), "rocm") << "no engine of ours has it";
  EXPECT_EQ(ProgramSuffix(Target::kReference, Provider::kNative), "");
  EXPECT_EQ(ProgramSuffix(Target::kReference, Provider::kLlamaCpp), "llama");
  EXPECT_EQ(OwnDirectory(), fs::read_symlink("/proc/self/exe").parent_path().string());
}

TEST(WorkerPrograms, AreFoundOnThePath) {
  const fs::path folder = fs::path(::testing::TempDir()) / "worker_programs_path";
  fs::remove_all(folder);
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "b");
  std::ofstream(folder / "a" / "launch") << "";  // no program
  std::ofstream(folder / "b" / "launch") << "";
  fs::permissions(folder / "b" / "launch", fs::perms::owner_all);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", ((folder / "a").string() + ":" + (folder / "b").string()).c_str(), 1);
  EXPECT_EQ(FindProgram("launch"), (folder / "b" / "launch").string());
  EXPECT_EQ(FindProgram("./launch"), "./launch");
  EXPECT_EQ(FindProgram("none"), "none");
  ::unsetenv("PATH");
  EXPECT_EQ(FindProgram("launch"), "launch");
  ::setenv("PATH", before.c_str(), 1);
  fs::remove_all(folder);
}

TEST(WorkerPrograms, GetTheModelWithTheSettingsThatTheirEngineReads) {
  serving::EngineEntry engine{.target = serving::Target::kCpu};
  serving::EngineRequest engine_request;
  serving::LoadRequest request;
  request.id = "m \"x\"";
  request.path = "/models/m.gguf";
  EXPECT_EQ(ModelSettingFor(engine, engine_request, request),
            R"([{"id":"m \"x\"","path":"/models/m.gguf","backend":"native_cpu"}])");
  request.draft = "/models/d.gguf";
  request.format = "gguf";
  engine_request.context = 4096;
  engine_request.config.kv_budget = 1000;
  engine_request.config.tensor_parallel = 2;
  EXPECT_EQ(
      ModelSettingFor(engine, engine_request, request),
      R"([{"id":"m \"x\"","path":"/models/m.gguf","backend":"native_cpu","draft":"/models/d.gguf","format":"gguf","context":4096,)"
      R"("kv_budget":1000,"tensor_parallel":2}])");
  engine_request.config.cuda_streams = 2;  // of another backend
  engine_request.config.rope_context = "original";
  const std::string both = R"("kv_budget":1000,"rope_context":"original","tensor_parallel":2}])";
  EXPECT_TRUE(ModelSettingFor(engine, engine_request, request).ends_with(both))
      << ModelSettingFor(engine, engine_request, request);
  request.path = "m.gguf";
  request.draft = "d.gguf";
  const std::string here = fs::current_path().string();
  EXPECT_TRUE(ModelSettingFor(engine, engine_request, request)
                  .starts_with(R"([{"id":"m \"x\"","path":")" + here + R"(/m.gguf","backend":"native_cpu","draft":")" +
                               here + "/d.gguf\""));
}

TEST(WorkerPrograms, GetTheSettingsOfAllModelsAsFlags) {
  serving::LoadRequest request;
  request.max_batch_tokens = 5;
  request.sessions.memory_bytes = 6;
  request.sessions.disk_bytes = 7;
  EXPECT_THAT(FlagsFor(request, "w"), ElementsAre("--runtime-max-batch-tokens", "5", "--runtime-goal", "throughput",
                                                  "--runtime-speculation", "auto", "--runtime-max-draft-tokens", "4",
                                                  "--runtime-session-memory", "6", "--runtime-session-disk", "7"));
  request.max_running = 1;
  request.max_queued = 1;
  request.goal = scheduler::StepGoal::kLatency;
  request.speculation = "none";
  request.max_draft_tokens = 3;
  request.sessions.store_url = "http://s";
  request.sessions.store_key_file = "key";
  const fs::path folder = fs::path(::testing::TempDir()) / "worker_programs_sessions";
  request.sessions.directory = folder.string();
  EXPECT_THAT(
      FlagsFor(request, "w"),
      ElementsAre("--runtime-max-batch-tokens", "5", "--runtime-max-running", "1", "--runtime-max-queue", "1",
                  "--runtime-goal", "latency", "--runtime-speculation", "none", "--runtime-max-draft-tokens", "3",
                  "--runtime-session-memory", "6", "--runtime-session-disk", "7", "--runtime-session-store", "http://s",
                  "--runtime-session-store-key-file", "key", "--runtime-session-dir", (folder / "w").string()));
  EXPECT_TRUE(fs::is_directory(folder / "w"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace inferflux::worker
