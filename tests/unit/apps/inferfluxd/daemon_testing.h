// The server program's parts in this process: its command line, and its run in a thread until a signal.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/inferfluxd/daemon.h"
#include "command_line/stop_signals.h"
#include "net/client.h"

namespace inferflux::apps {

inline const std::string kTinyFolder = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/";
inline const std::string kTinyModel = kTinyFolder + "inferflux-tiny.gguf";

inline ParsedOptions Parsed(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"inferfluxd"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return ParseOptions(static_cast<int>(argv.size()), argv.data());
}

inline constexpr unsigned kLongest = 240;  // seconds

// A folder of one test, which goes with it.
class DaemonTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { BlockStopSignals(); }  // in all threads: the daemon waits for them

  DaemonTest() {
    ::alarm(kLongest);  // SIGTERM would not end a daemon that hangs
    std::filesystem::create_directories(folder_);
  }
  ~DaemonTest() override {
    ::alarm(0);
    std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Written(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return Path(name);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("inferfluxd_" + std::to_string(::getpid()));
};

// A daemon from its start to the end of the scope; on a free port, whose file is `port_file`.
class RunningDaemon {
 public:
  RunningDaemon(std::vector<std::string> words, std::string port_file) : port_file_(std::move(port_file)) {
    words.insert(words.begin(), {"--port", "0", "--port-file", port_file_});
    auto parsed = Parsed(words);
    EXPECT_TRUE(parsed.options);
    if (parsed.options) {
      ended_ = false;
      thread_ = std::thread([this, options = std::move(*parsed.options)] {
        code_ = RunDaemon(options);
        ended_ = true;
      });
    }
  }
  ~RunningDaemon() { Stop(); }

  // What its file says, once it is there; empty if the daemon ended before.
  std::string url() const {
    std::string out;
    while (!ended_ && !std::getline(std::ifstream(port_file_), out)) Pause();
    return out;
  }
  uint16_t port() const {
    const std::string shown = url();
    return static_cast<uint16_t>(std::stoi(shown.substr(shown.rfind(':') + 1)));
  }
  // The status and the body of an answer of 127.0.0.1.
  std::pair<int, std::string> Get(const std::string& target, const std::string& key = {}) const {
    net::Client client({"127.0.0.1", port(), ""});
    std::vector<net::Header> headers;
    if (!key.empty()) headers.push_back({"Authorization", "Bearer " + key});
    const auto answer = client.Send({.target = target, .headers = headers});
    return answer ? std::pair(answer->status, answer->body) : std::pair(0, answer.error().message);
  }
  boost::json::value GetJson(const std::string& target, const std::string& key = {}) const {
    return boost::json::parse(Get(target, key).second);
  }
  void AwaitReady() const {
    while (!ended_ && Get("/readyz").first != 200) Pause();
    EXPECT_FALSE(ended_);
  }
  // Its exit code, after a signal or by itself.
  int Stop() {
    if (!thread_.joinable()) return code_;
    if (!ended_) RequestStop();
    thread_.join();
    return code_;
  }
  // The same where it ends by itself.
  int Join() {
    thread_.join();
    return code_;
  }

 private:
  static void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

  const std::string port_file_;
  std::atomic<int> code_ = -1;
  std::atomic<bool> ended_ = true;
  std::thread thread_;
};

}  // namespace inferflux::apps
