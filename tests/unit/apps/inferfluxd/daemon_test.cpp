// The server program as its settings make it: what it loads and how, where it listens, and what ends it.
#include "apps/inferfluxd/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferfluxd/daemon_testing.h"
#include "keys/key_line.h"

namespace inferflux::apps {
namespace {

namespace json = boost::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Only the members of these names, in this order.
std::string Facts(const json::object& model, const std::vector<std::string>& names) {
  json::object out;
  for (const std::string& name : names) out[name] = model.if_contains(name) ? model.at(name) : "absent";
  return json::serialize(out);
}

TEST_F(DaemonTest, EachModelHasItsOwnSettingsOrThoseOfAll) {
  const std::string yaml = Written("s.yaml", fmt::format(R"(
runtime: {{backend: cpu, context: 256, kv_budget: 4MiB, memory_budget: 1GiB, keep_alive: 70, session_dir: {1}}}
models:
  - {{id: a, path: {0}inferflux-tiny.gguf}}
  - {{id: b, path: {0}inferflux-tiny.gguf, context: 128, backend: reference, keep_alive: 600, default: true,
     draft: {0}inferflux-tiny-draft.gguf}}
  - {{id: c, path: /no/file}}
  - {{id: d, path: {0}inferflux-tiny.gguf, format: huggingface}}
)",
                                                         kTinyFolder, Path("sessions")));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max / 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ::testing::internal::CaptureStderr();
  RunningDaemon daemon({"--config", yaml, "--log-level", "info"}, Path("port"));
  daemon.AwaitReady();
  const std::string url = daemon.url();
  EXPECT_EQ(url, fmt::format("http://127.0.0.1:{}", daemon.port()));
  EXPECT_FALSE(std::filesystem::exists(Path("port.partial")));
  const json::value listed = daemon.GetJson("/v1/admin/models");
  const json::array& models = listed.at("data").as_array();
  ASSERT_EQ(models.size(), 4u);
  const std::vector<std::string> stay = {"id", "path", "default", "pinned", "keep_alive"};
  EXPECT_EQ(Facts(models[0].as_object(), stay),
            json::serialize(json::object{
                {"id", "a"}, {"path", kTinyModel}, {"default", false}, {"pinned", true}, {"keep_alive", 70}}));
  EXPECT_EQ(Facts(models[1].as_object(), stay),
            json::serialize(json::object{
                {"id", "b"}, {"path", kTinyModel}, {"default", true}, {"pinned", false}, {"keep_alive", 600}}));
  const std::vector<std::string> made = {"context", "draft", "kv_tokens"};
  EXPECT_EQ(Facts(models[0].at("details").as_object(), made), R"({"context":256,"draft":false,"kv_tokens":1632})");
  EXPECT_EQ(Facts(models[1].at("details").as_object(), made), R"({"context":128,"draft":true,"kv_tokens":1632})");
  EXPECT_EQ(models[0].at("backend_exposure").at("requested_backend"), "cpu");
  EXPECT_EQ(models[1].at("backend_exposure").at("requested_backend"), "reference");
  EXPECT_EQ(Facts(models[2].as_object(), {"id", "state", "requested_backend"}),
            R"({"id":"c","state":"failed","requested_backend":"cpu"})");
  EXPECT_EQ(Facts(models[3].as_object(), {"id", "state"}), R"({"id":"d","state":"failed"})");
  EXPECT_TRUE(std::filesystem::exists(Path("sessions")));
  EXPECT_THAT(daemon.Get("/metrics").second, HasSubstr("inferflux_pool_budget_bytes 1073741824\n"));
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max) << "each stream is a descriptor";
  EXPECT_EQ(daemon.Stop(), 0);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr(" info listening on " + url + "\n"));
  EXPECT_THAT(log, HasSubstr(" error model 'c': there is no model file or directory '/no/file'"));
  EXPECT_THAT(log, HasSubstr(" model=b backend=reference provider=native context=128 models=2 needs_key=false\n"));
  EXPECT_THAT(log, EndsWith(" info stopping\n"));
}

TEST_F(DaemonTest, ADirectoryOfModelsIsServedAndLoadedAtFirstUse) {
  std::filesystem::create_directories(Path("models"));
  std::filesystem::copy_file(kTinyModel, Path("models/tiny.gguf"));
  const std::string keys = "abcdefgh";
  RunningDaemon daemon(
      {"--runtime-models-dir", Path("models"), "--runtime-keep-alive", "80", "--runtime-backend", "cpu",
       "--server-api-key", keys, "--server-admin-port", "0", "--log-level", "error", "--server-host", "0.0.0.0",
       "--server-store-file", Path("store"), "--runtime-capability-routing-fallback-scope", "any_compatible"},
      Path("port"));
  daemon.AwaitReady();
  EXPECT_THAT(daemon.url(), StartsWith("http://127.0.0.1:")) << "an address that a client can use";
  EXPECT_EQ(daemon.Get("/v1/models").first, 401);
  EXPECT_EQ(daemon.Get("/v1/models", "other").first, 401);
  const json::value models = daemon.GetJson("/v1/models", keys);
  ASSERT_EQ(models.at("data").as_array().size(), 1u);
  EXPECT_EQ(models.at("data").at(0).at("id"), "tiny");
  EXPECT_EQ(models.at("data").at(0).at("ready"), false);
  EXPECT_EQ(daemon.Get("/v1/admin/models", keys).first, 404) << "it has a port of its own";
  EXPECT_TRUE(std::filesystem::exists(Path("store")));
  EXPECT_EQ(daemon.Stop(), 0);
}

TEST_F(DaemonTest, TheAddressShownIsOneToConnectTo) {
  std::filesystem::create_directories(Path("models"));
  for (const auto& [host, shown] : {std::pair{"127.0.0.1", "http://127.0.0.1:"},
                                    {"localhost", "http://localhost:"},
                                    {"0.0.0.0", "http://127.0.0.1:"},
                                    {"::", "http://[::1]:"},
                                    {"::1", "http://[::1]:"}}) {
    RunningDaemon daemon({"--runtime-models-dir", Path("models"), "--server-host", host, "--server-api-key", "abcdefgh",
                          "--log-level", "error"},
                         Path("port"));
    if (std::string_view(host).starts_with(':') && daemon.url().empty()) continue;  // a machine without IPv6
    EXPECT_THAT(daemon.url(), StartsWith(shown)) << host;
    EXPECT_EQ(daemon.Stop(), 0);
    std::filesystem::remove(Path("port"));
  }
}

TEST_F(DaemonTest, AWrongSettingEndsItAtOnce) {
  std::filesystem::create_directories(Path("models"));
  const std::string folder = "--runtime-models-dir=" + Path("models");
  const std::string yaml =
      Written("s.yaml", fmt::format("models:\n  - {{id: a, path: {}, backend: nope}}\n", kTinyModel));
  const std::string good = Written("good.yaml", fmt::format("models:\n  - {{id: a, path: {}}}\n", kTinyModel));
  struct Case {
    std::vector<std::string> words;
    std::string said;
  };
  const std::string unknown = "unknown backend 'nope'; known are cpu, ";
  const Case cases[] = {
      {{folder, "--runtime-backend", "nope"}, " error runtime.backend: " + unknown},
      {{folder, "--runtime-backend-priority", "nope"}, " error runtime.backend_priority: " + unknown},
      {{"--config", yaml}, ": models.backend: " + unknown},
      {{folder, "--pool", "--workers-prefill", "1", "--workers-count", "2"},
       " error workers.prefill needs runtime.session_store, such as a folder in /dev/shm\n"},
      {{folder, "--pool", "--workers-prefill", "2", "--workers-count", "2", "--runtime-session-store", Path("store")},
       " error workers.prefill is 2, and workers.count 2: at least one worker must generate\n"},
      {{"--runtime-models-dir", Path("none")}, " error runtime.models_dir: there is no directory " + Path("none")},
      {{folder, "--server-tls-cert", "/c"}, " error TLS needs both server.tls_cert and server.tls_key; "},
      {{folder, "--telemetry-otlp-endpoint", "ftp://x"}, " error telemetry.otlp_endpoint: 'ftp://x': only "},
      {{folder, "--runtime-session-store", "http://x:1"}, " error runtime.session_store needs "},
      {{folder, "--server-store-file", "/no/folder/x"},
       " error cannot open the file of stored responses, /no/folder/x"},
      {{folder, "--server-api-keys-file", "/no/keys"}, " error cannot read the API keys file /no/keys\n"},
      {{folder, "--port-file", "/no/folder/port"}, " error cannot write the port file /no/folder/port\n"},
  };
  for (const Case& each : cases) {
    std::vector<std::string> words = {"--port", "0"};
    words.insert(words.end(), each.words.begin(), each.words.end());
    const auto parsed = Parsed(words);
    ASSERT_TRUE(parsed.options) << each.said;
    ::testing::internal::CaptureStderr();
    const int code = RunDaemon(*parsed.options);
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, 1) << each.said;
    EXPECT_THAT(log, HasSubstr(each.said));
  }
}

TEST_F(DaemonTest, WithoutAModelThatServesItEnds) {
  ::testing::internal::CaptureStderr();
  RunningDaemon daemon({"--model", "/no/file"}, Path("port"));
  EXPECT_EQ(daemon.Join(), 1);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr(" error model 'file': there is no model file or directory '/no/file'"));
  EXPECT_THAT(log, Not(HasSubstr("ready")));
}

TEST_F(DaemonTest, ItsLogHasTheLevelAndTheFormOfTheSettings) {
  std::filesystem::create_directories(Path("models"));
  const auto log = [&](const std::string& level, const std::string& format) {
    ::testing::internal::CaptureStderr();
    RunningDaemon daemon({"--runtime-models-dir", Path("models"), "--log-level", level, "--log-format", format},
                         Path("port"));
    EXPECT_NE(daemon.url(), "");
    EXPECT_EQ(daemon.Stop(), 0);
    std::filesystem::remove(Path("port"));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(log("error", "text"), "");
  EXPECT_THAT(log("info", "json"), HasSubstr(R"("message":"stopping")"));
  EXPECT_THAT(log("info", "text"), HasSubstr(" info stopping\n"));
}

TEST_F(DaemonTest, AHangupReadsTheSettingsAgain) {
  std::filesystem::create_directories(Path("models"));
  const std::string other(64, 'a');
  const std::string keys = Written("keys", other + "\n" + keys::ToHex(keys::HashOf("sesame")) + "\n");
  RunningDaemon daemon({"--runtime-models-dir", Path("models"), "--server-api-keys-file", keys, "--log-level", "error"},
                       Path("port"));
  EXPECT_EQ(daemon.Get("/v1/models", "sesame").first, 200);
  Written("keys", other + "\n");
  ::kill(::getpid(), SIGHUP);
  while (daemon.Get("/v1/models", "sesame").first == 200) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(daemon.Get("/v1/models", "sesame").first, 401) << "the key has left the file";
  EXPECT_EQ(daemon.Stop(), 0);
}

}  // namespace
}  // namespace inferflux::apps
