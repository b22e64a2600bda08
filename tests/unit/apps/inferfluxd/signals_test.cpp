// What a SIGHUP changes in a running server, what it says of the rest, and what settings reach the models and the
// listeners.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <csignal>
#include <string>
#include <tuple>

#include "apps/inferfluxd/daemon_testing.h"
#include "keys/jwt/signed_tokens.h"
#include "keys/key_line.h"

namespace inferflux::apps {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SignalsTest : public DaemonTest {
 protected:
  SignalsTest() {
    std::filesystem::create_directories(Path("models"));
    std::filesystem::copy_file(kTinyModel, Path("models/tiny.gguf"));
    Written("keys", keys::ToHex(keys::HashOf("admin")) + " read,generate,admin,metrics\n");
  }
  std::string Settings(const std::string& rest) const {
    return Written("s.yaml", fmt::format("server: {{api_keys_file: {}}}\n{}", Path("keys"), rest));
  }
  // Reads the settings again, and waits until the file of keys, which has another one each time, is in use.
  void Reload(const RunningDaemon& daemon, const std::string& rest) {
    Settings(rest);
    const std::string key = "key" + std::to_string(++reloads_);
    Written("keys", keys::ToHex(keys::HashOf("admin")) + " read,generate,admin,metrics\n" +
                        keys::ToHex(keys::HashOf(key)) + "\n");
    ::kill(::getpid(), SIGHUP);
    while (daemon.Get("/v1/models", key).first != 200) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  static json::value Routing(const RunningDaemon& daemon) { return daemon.GetJson("/v1/admin/routing", "admin"); }

  int reloads_ = 0;
};

// Standard error goes to a file while it exists.
class ErrorFile {
 public:
  explicit ErrorFile(const std::string& path) : path_(path), usual_(::dup(STDERR_FILENO)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
  }
  ~ErrorFile() {
    ::dup2(usual_, STDERR_FILENO);
    ::close(usual_);
  }
  void AwaitLine(const std::string& end) const {
    while (true) {
      std::ifstream in(path_);
      for (std::string line; std::getline(in, line);) {
        if (line.ends_with(end)) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

 private:
  const std::string path_;
  const int usual_;
};

TEST_F(SignalsTest, RoutingChangesOnlyWhereItsSettingsDo) {
  const std::string models = "runtime: {models_dir: " + Path("models");
  const std::string yaml = Settings(models + "}\n");
  const ErrorFile log(Path("log"));
  RunningDaemon daemon({"--config", yaml, "--log-level", "info", "--log-format", "text"}, Path("port"));
  daemon.AwaitReady();
  EXPECT_EQ(Routing(daemon).at("fallback_scope"), "same_path_only");
  net::Client client({"127.0.0.1", daemon.port(), ""});
  const auto set = client.Send({.method = "PUT",
                                .target = "/v1/admin/routing",
                                .headers = {{"Authorization", "Bearer admin"}},
                                .body = R"({"allow_default_fallback":false})"});
  ASSERT_TRUE(set && set->status == 200);
  Reload(daemon, models + ", context: 64}\n");
  log.AwaitLine(" SIGHUP: read the configuration again; 2 API keys");  // the keys are in use before that
  EXPECT_EQ(Routing(daemon).at("allow_default_fallback"), false) << "the administrator's choice stays";
  Reload(daemon, models + ", capability_routing: {fallback_scope: any_compatible}}\n");
  while (Routing(daemon).at("fallback_scope") != "any_compatible")
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(Routing(daemon).at("allow_default_fallback"), true);
  EXPECT_EQ(daemon.Stop(), 0);
}

TEST_F(SignalsTest, WhatWaitsForTheNextStartIsSaid) {
  const std::string models = "runtime: {models_dir: " + Path("models");
  const std::string yaml = Settings(models + "}\nlog: {level: info}\n");
  ::testing::internal::CaptureStderr();
  RunningDaemon daemon({"--config", yaml, "--log-format", "text"}, Path("port"));
  daemon.AwaitReady();
  Reload(daemon, models +
                     ", context: 64, capability_routing: {require_ready_backend: false}}\n"
                     "limits: {running: 3, preparation_threads: 2}\nlog: {level: info}\n");
  Reload(daemon, models + "}\nlog: {level: error}\n");
  Reload(daemon, models + "}\nlog: {level: info}\n");
  EXPECT_EQ(daemon.Stop(), 0);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr(" info SIGHUP: read the configuration again; 2 API keys\n"));
  const std::string next = " differs from the start; that takes effect at the next one\n";
  for (const char* fixed : {"runtime.context", "limits.preparation_threads"})
    EXPECT_THAT(log, HasSubstr(std::string(" warning SIGHUP: ") + fixed + next));
  for (const char* name : {"limits.running", "capability_routing", "log.level", "api_keys_file"})
    EXPECT_THAT(log, Not(HasSubstr(name))) << "it has changed";
}

TEST_F(SignalsTest, AConfigurationWithAnErrorChangesNothing) {
  const std::string models = "runtime: {models_dir: " + Path("models") + "}\n";
  const std::string yaml = Settings(models);
  const ErrorFile log(Path("log"));
  RunningDaemon daemon({"--config", yaml, "--log-level", "error"}, Path("port"));
  daemon.AwaitReady();
  Written("keys", "no key\n");
  ::kill(::getpid(), SIGHUP);
  log.AwaitLine("; the configuration stays as it was");
  EXPECT_EQ(daemon.Get("/v1/models", "admin").first, 200);
  Reload(daemon, models);
  EXPECT_EQ(daemon.Stop(), 0);
}

TEST_F(SignalsTest, SettingsReachTheModelsThatAreLoaded) {
  const std::string yaml = Written("s.yaml", fmt::format(R"(
runtime: {{backend: cpu, context: 1, kv_budget: 4MiB, kv_dtype: int8, threads: 1, max_running: 2, max_queue: 7, keep_alive: 5}}
models:
  - {{path: {}, keep_alive: -1}}
)",
                                                         kTinyModel));
  RunningDaemon other({"--config", yaml, "--log-level", "error", "--page", "false"}, Path("port"));
  other.AwaitReady();
  const json::value model = other.GetJson("/v1/admin/models").at("data").at(0);
  EXPECT_EQ(model.at("id"), "inferflux-tiny");
  EXPECT_EQ(model.at("keep_alive"), -1);
  EXPECT_EQ(model.at("pinned"), false);
  EXPECT_EQ(model.at("details").at("context"), 1);
  EXPECT_EQ(model.at("details").at("kv_dtype"), "int8");
  EXPECT_EQ(other.Get("/").first, 404) << "without a page";
  EXPECT_EQ(other.Stop(), 0);
}

TEST_F(SignalsTest, TokensOfTheIssuerAreTakenInPlaceOfKeys) {
  const std::string file = Written("set", fmt::format(R"({{"keys":[{}]}})", keys::kSignedTokens[0].key));
  const std::string token(keys::kSignedTokens[0].token);
  for (const auto& [audience, issuer, status] : {std::tuple{"inferflux", "https://id.example", 200},
                                                 {"a,inferflux", "https://id.example", 200},
                                                 {"inferflux,a", "https://id.example", 200},
                                                 {"a,bc", "https://id.example", 401},
                                                 {"inferflux", "https://other.example", 401}}) {
    RunningDaemon daemon({"--runtime-models-dir", Path("models"), "--log-level", "error", "--server-jwt-jwks-file",
                          file, "--server-jwt-issuer", issuer, "--server-jwt-audience", audience},
                         Path("port"));
    EXPECT_EQ(daemon.Get("/v1/models", token).first, status) << audience << " " << issuer;
    EXPECT_EQ(daemon.Get("/v1/models").first, 401);
    EXPECT_EQ(daemon.Get("/v1/admin/models", token).first, status == 200 ? 403 : 401) << "the scopes are the token's";
    EXPECT_EQ(daemon.Stop(), 0);
    std::filesystem::remove(Path("port"));
  }
}

}  // namespace
}  // namespace inferflux::apps
