// Engines that a test starts in place of real ones, and what they were told.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "scheduler/generation_service.h"
#include "serving/backends/backend_factory.h"
#include "serving/models/load_model.h"

namespace inferflux::testing {

inline const std::string kTinyFile = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";

// A file with the metadata of the bundled model and some edits, and one weight of this value. Returns its path.
inline std::string MetadataFile(const std::string& name, const std::function<void(formats::GgufWriter&)>& edit,
                                float weight = 1) {
  const auto file = formats::GgufFile::Open(kTinyFile);
  EXPECT_TRUE(file);
  const std::string path =
      std::filesystem::path(::testing::TempDir()) / ("metadata_" + std::to_string(::getpid()) + name + ".gguf");
  std::filesystem::remove(path);
  std::ofstream out(path, std::ios::binary);
  formats::GgufWriter writer(out);
  for (const auto& entry : (*file)->metadata().entries()) writer.Copy(entry);
  edit(writer);
  EXPECT_TRUE(writer.AddTensor("output_norm.weight", formats::TensorType::kF32, std::vector<uint64_t>{1}));
  EXPECT_TRUE(writer.WriteHeader());
  EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(&weight, 1))));
  EXPECT_TRUE(writer.Finish());
  return path;
}

// Refuses every request.
class SilentService final : public scheduler::GenerationService {
 public:
  Result<std::shared_ptr<scheduler::TokenStream>> Submit(scheduler::GenerationRequest) override {
    return Fail(ErrorCode::kUnavailable, "it serves nothing");
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return {}; }
};

// Starts what has no fault, and keeps what each engine was told.
struct FakeStarts {
  struct Start {
    std::string engine;  // "cpu/native"
    serving::EngineRequest request;
  };

  serving::EngineStarter starter() {
    return [this](const serving::EngineEntry& entry, const serving::EngineRequest& request,
                  const serving::LoadRequest&) -> Result<serving::StartedEngine> {
      const std::string name = std::string(Traits(entry.target).name) + "/" + std::string(ProviderName(entry.provider));
      starts.push_back({name, request});
      if (during) during();
      if (const auto fault = faults.find(name); fault != faults.end()) return tl::make_unexpected(fault->second);
      return serving::StartedEngine{.scheduler = std::make_shared<SilentService>(), .info = info, .workers = workers};
    };
  }

  std::map<std::string, Error> faults;  // by engine
  engine::EngineInfo info;
  std::vector<std::string> workers;
  std::function<void()> during;
  std::vector<Start> starts;
};

// An engine of this build that only FakeStarts starts.
inline serving::EngineEntry EntryOf(serving::Target target, serving::Provider provider = serving::Provider::kNative,
                                    std::function<std::vector<compute::Device>()> devices = {}) {
  return {.target = target,
          .provider = provider,
          .make = [](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
            return Fail(ErrorCode::kInternal, "not meant to be made");
          },
          .why_absent = {},
          .devices = std::move(devices)};
}

}  // namespace inferflux::testing
