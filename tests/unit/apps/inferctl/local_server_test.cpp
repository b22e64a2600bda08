// What inferctl finds and starts beside itself. This program is started again in a folder of its own, where a script
// takes the part of inferfluxd.
#include "apps/inferctl/client/local_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "apps/console/embedded_model.h"
#include "apps/inferctl/command_testing.h"
#include "apps/inferctl/pseudo_terminal.h"

namespace inferflux::apps {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kFolder[] = "LOCAL_SERVER_TEST_FOLDER";  // set: this is the program in that folder
constexpr char kUrl[] = "LOCAL_SERVER_TEST_URL";
constexpr char kNoServerThere[] = "http://127.0.0.1:1";

std::string TextAt(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Of the program in its folder, so disabled for any other: FoundBesideTest starts each.
class BesideTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv(kFolder);
    ASSERT_NE(folder, nullptr);
    folder_ = folder;
  }
  void WriteServer(const std::string& script) const {
    const fs::path path = folder_ / "bin" / "inferfluxd";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    fs::permissions(path, fs::perms::owner_all);
  }
  // Says what it was started with, and its process and group; then where it listens; and ends at a SIGTERM, or after a
  // minute.
  void WriteGoodServer() const {
    WriteServer("cd $" + std::string(kFolder) +
                "\n"
                "echo \"$*\" >words\ncut -d' ' -f1,5 /proc/$$/stat >group\n"
                "trap 'echo ended >ended; exit 0' TERM\n"
                "echo \"$" +
                kUrl + "\" >\"$4\"\nn=0; while [ $n -lt 3000 ]; do sleep 0.02; n=$((n + 1)); done\n");
  }

  fs::path folder_;
};

TEST_F(BesideTest, DISABLED_NoServer) {
  const std::string said = Called(AddChat, {"chat", "x"}, {.url = kNoServerThere, .url_is_default = true});
  EXPECT_EQ(said, "|inferctl: no server at " + std::string(kNoServerThere) +
                      "; starting one on the model that comes with InferFlux\ninferctl: there is no inferfluxd beside "
                      "inferctl to start; start a server, or name one with --url\n|1");
}

TEST_F(BesideTest, DISABLED_AServerThatEnds) {
  WriteServer("exit 3\n");
  const auto started = LocalServer::Start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "the server ended while it started; its messages are above");
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  fs::permissions(folder_ / "bin" / "inferfluxd", fs::perms::owner_read);
  EXPECT_FALSE(LocalServer::Start()) << "it is no program";
}

TEST_F(BesideTest, DISABLED_AServerThatTakesItsTime) {
  WriteGoodServer();
  std::atomic<int> tries = 0;
  net::Router router;
  router.Add("GET", "/readyz",
             [&tries](const net::Request&, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
               const int status = ++tries < 3 ? 503 : 200;
               co_await writer.Send({status, "text/plain", ""});
             });
  const auto server = net::Server::Start({}, std::move(router));
  ASSERT_TRUE(server) << server.error().message;
  const std::string url = fmt::format("http://127.0.0.1:{}", (*server)->port());
  const Variables variables{{kUrl, url}};
  std::string port_file;
  {
    const auto started = LocalServer::Start();
    ASSERT_TRUE(started) << started.error().message;
    EXPECT_EQ(tries, 3) << "it is asked until it is ready";
    EXPECT_EQ((*started)->url(), url);
    const std::string words = TextAt(folder_ / "words");
    EXPECT_THAT(words, StartsWith("--port 0 --port-file "));
    EXPECT_TRUE(words.ends_with(" --log-level warning\n")) << words;
    port_file = words.substr(21, words.find(' ', 21) - 21);
    EXPECT_EQ(fs::status(port_file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    const std::string group = TextAt(folder_ / "group");
    EXPECT_EQ(group, fmt::format("{0} {0}\n", std::stoi(group))) << "the terminal's Ctrl-C is not for it";
    EXPECT_FALSE(fs::exists(folder_ / "ended"));
  }
  EXPECT_EQ(TextAt(folder_ / "ended"), "ended\n");
  EXPECT_FALSE(fs::exists(port_file));
}

TEST_F(BesideTest, DISABLED_AServerThatAnswers) {
  WriteGoodServer();
  ScriptedServer server(Answers{
      {"GET /readyz", ""},
      {"POST /v1/chat/completions", "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: [DONE]\n\n"}});
  const Variables variables{{kUrl, server.url()}};
  EXPECT_EQ(Called(AddChat, {"chat", "x"}, {.url = kNoServerThere, .url_is_default = true}),
            "Hello\n|inferctl: no server at " + std::string(kNoServerThere) +
                "; starting one on the model that comes with InferFlux\n|0");
  EXPECT_TRUE(fs::exists(folder_ / "ended"));
}

TEST_F(BesideTest, DISABLED_AServerWithoutItsProgram) {
  WriteGoodServer();
  ScriptedServer server(Answers{{"GET /readyz", ""}});
  const Variables variables{{kUrl, server.url()}};
  EXPECT_TRUE(LocalServer::Start().has_value() && fs::remove(folder_ / "ended"));
  auto started = LocalServer::Start();
  ASSERT_TRUE(started);
  std::_Exit(0);  // without an end of its own
}

TEST_F(BesideTest, DISABLED_Models) {
  const std::string file = "inferflux-tiny.gguf";
  const auto none = FindEmbeddedModel();
  ASSERT_FALSE(none) << *none;
  EXPECT_EQ(none.error().message,
            "the model that comes with InferFlux (" + file + ") is not beside this program; name one with --model");
  for (const fs::path& place : {folder_ / "models" / "tiny", folder_ / "bin" / "models" / "tiny", folder_ / "bin",
                                folder_ / "share" / "inferflux" / "models"}) {
    fs::create_directories(place);
    std::ofstream(place / file) << "x";
    EXPECT_EQ(FindEmbeddedModel().value_or("none"), (place / file).string());
  }
}

class FoundBesideTest : public ::testing::Test {
 protected:
  // Beside this program, on the same disk, its link takes no space.
  FoundBesideTest() : FoundBesideTest(Self().parent_path()) {}
  explicit FoundBesideTest(const fs::path& place) : folder_(place / ("found_beside_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_ / "bin");
    std::error_code other_disk;
    fs::create_hard_link(Self(), folder_ / "bin" / "program", other_disk);
    if (other_disk) fs::copy_file(Self(), folder_ / "bin" / "program");
  }
  ~FoundBesideTest() override { fs::remove_all(folder_); }

  void Begin(const std::string& name) const {
    const Variables variables{{kFolder, folder_.string()}, {"TMPDIR", folder_.string()}};
    const std::string output = (folder_ / "output").string();
    const int status = std::system(((folder_ / "bin" / "program").string() +
                                    " --gtest_also_run_disabled_tests --gtest_filter=BesideTest.DISABLED_" + name +
                                    " >" + output + " 2>&1")
                                       .c_str());
    EXPECT_EQ(status, 0) << TextAt(output);
    EXPECT_THAT(TextAt(output), HasSubstr("RUN      ] BesideTest.DISABLED_" + name));
  }

  static fs::path Self() { return fs::read_symlink("/proc/self/exe"); }

  const fs::path folder_;
};

// Above the build folder there may be the source tree, which has the model.
class FoundElsewhereTest : public FoundBesideTest {
 protected:
  FoundElsewhereTest() : FoundBesideTest(fs::canonical(fs::path(::testing::TempDir()))) {}
};

TEST_F(FoundBesideTest, WithoutAServerItIsSaid) { Begin("NoServer"); }
TEST_F(FoundBesideTest, AServerThatEndsIsAnError) { Begin("AServerThatEnds"); }
TEST_F(FoundBesideTest, AServerIsAwaitedAndStopped) { Begin("AServerThatTakesItsTime"); }
TEST_F(FoundBesideTest, AServerThatIsStartedAnswers) { Begin("AServerThatAnswers"); }
TEST_F(FoundBesideTest, AServerEndsWithItsProgram) {
  Begin("AServerWithoutItsProgram");
  for (int i = 0; i < 2000 && !fs::exists(folder_ / "ended"); ++i) ::usleep(10'000);
  EXPECT_TRUE(fs::exists(folder_ / "ended"));
}
TEST_F(FoundElsewhereTest, AModelIsFoundWhereItWasPut) { Begin("Models"); }

}  // namespace
}  // namespace inferflux::apps
