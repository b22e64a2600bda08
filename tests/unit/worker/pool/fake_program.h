// A pool whose worker programs are scripts, for which the test speaks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "net/client.h"
#include "net/url.h"
#include "worker/pool/fake_process.h"
#include "worker/pool/worker_manager.h"

namespace inferflux::worker {

namespace fs = std::filesystem;

class WorkerManagerTest : public ::testing::Test {
 protected:
  WorkerManagerTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    WriteProgram("inferflux-worker-cpu", "/dev/fd/3");
    model_ = (folder_ / "m.gguf").string();
    std::ofstream(model_) << std::string(1000, 'w');
    request_.id = "m";
    request_.path = model_;
    options_.directory = folder_.string();
    options_.threads = 3;
    options_.log_format = "json";
    options_.times = {
        .start = std::chrono::seconds(60), .heartbeat = std::chrono::seconds(7), .grace = std::chrono::seconds(2)};
  }
  ~WorkerManagerTest() override { fs::remove_all(folder_); }

  struct Told {
    std::string secret, models, cores;
    std::vector<std::string> words;
    std::map<std::string, std::string> flags;
  };
  // A program that writes what it was given, and then waits.
  void WriteProgram(const std::string& name, const std::string& secret) const {
    const std::string told = folder_.string();
    const fs::path path = folder_ / name;
    std::ofstream(path)
        << "#!/bin/sh\nread secret < " << secret
        << "\n{ echo \"$secret\"; echo \"$INFERFLUX_MODELS\"; grep Cpus_allowed_list /proc/self/status; "
           "for word in \"$@\"; do printf '%s\\n' \"$word\"; done; } > "
        << told << "/new.$$\nmv " << told << "/new.$$ " << told << "/told.$$\n[ -e " << told
        << "/fail ] && exit 9\nexec sleep 100\n";
    fs::permissions(path, fs::perms::owner_all);
  }
  // What the processes were given, once so many have been.
  std::vector<Told> Processes(size_t count) const {
    std::vector<Told> out;
    EXPECT_TRUE(Eventually([&] {
      out.clear();
      for (const auto& entry : fs::directory_iterator(folder_)) {
        if (!entry.path().filename().string().starts_with("told.")) continue;
        std::ifstream file(entry.path());
        Told told;
        std::getline(file, told.secret);
        std::getline(file, told.models);
        std::getline(file, told.cores);
        for (std::string word; std::getline(file, word);) told.words.push_back(std::move(word));
        for (size_t i = 0; i + 1 < told.words.size(); i += 2) told.flags[told.words[i]] = told.words[i + 1];
        out.push_back(std::move(told));
      }
      return out.size() >= count;
    }));
    return out;
  }
  static int Post(const Told& told, const std::string& path, const std::string& body, bool token = true) {
    const auto to = net::ParsePlainAddress(told.flags.at("--callback-url"));
    net::ClientRequest request{.method = "POST", .target = path, .body = body};
    if (token) request.headers = Token(told.secret).Headers();
    const auto answer = net::Client(*to).Send(request);
    EXPECT_TRUE(answer);
    return answer ? answer->status : 0;
  }
  int Ready(const Told& told) const {
    return Post(told, "/ready", ToText(ReadyCallback{.worker_id = told.flags.at("--worker-id"), .uri = info_.uri()}));
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("manager_" + std::to_string(::getpid()));
  std::string model_;
  metrics::Registry registry_;
  InfoServer info_;
  PoolOptions options_;
  serving::EngineEntry engine_{.target = serving::Target::kCpu};
  serving::EngineRequest engine_request_;
  serving::LoadRequest request_;
};

}  // namespace inferflux::worker
