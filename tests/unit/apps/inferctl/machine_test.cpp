// inferctl backends, quickstart and bench: what they find on this machine, write and measure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "apps/console/backend_list.h"
#include "apps/inferctl/command_testing.h"
#include "apps/inferctl/pseudo_terminal.h"

namespace inferflux::apps {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST(BackendsTest, TheListHasThreeForms) {
  EXPECT_THAT(Called(AddBackends, {"backends"}),
              AllOf(HasSubstr("cpu        native     yes "), HasSubstr("\n\nhardware\ncpu "), Not(HasSubstr("GB/s")),
                    EndsWith("||0")));
  const std::string as_json = Called(AddBackends, {"backends", "--bandwidth"}, {.json = true});
  ASSERT_THAT(as_json, EndsWith("\n||0"));
  const json::value all = json::parse(as_json.substr(0, as_json.size() - 3));
  EXPECT_GT(all.at("hardware").at("cpu").at("read_bandwidth").to_number<double>(), 1e7);
  EXPECT_EQ(Called(AddBackends, {"backends", "--markdown"}), BackendsAsMarkdown() + "||0");
  EXPECT_EQ(Called(AddBackends, {"backends", "--markdown"}, {.json = true}),
            "|inferctl: --json and --markdown are two forms; choose one\n|2");
  EXPECT_THAT(Called(AddBackends, {"backends", "--markdown", "--bandwidth"}),
              AllOf(HasSubstr("--markdown"), HasSubstr("--bandwidth")));
}

const std::string kModel = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";

class QuickstartCommandTest : public ::testing::Test {
 protected:
  QuickstartCommandTest() {
    fs::create_directories(folder_);
    fs::current_path(folder_);
  }
  ~QuickstartCommandTest() override {
    fs::current_path(usual_);
    fs::remove_all(folder_);
  }
  static std::string Quickstart(std::vector<std::string> words, bool as_json = false) {
    words.insert(words.begin(), {"quickstart", "--backend", "cpu"});
    return Called(AddQuickstart, words, {.json = as_json});
  }
  static std::string Next(const std::string& output, const fs::path& programs) {
    return fmt::format(
        "{0} is written, for cpu (native). Next:\n  {1} --config {0}\n  {2} status --ready\n"
        "  {2} chat -m 'What is the capital of France?'\n||0",
        output, (programs / "inferfluxd").string(), (programs / "inferctl").string());
  }
  std::string TextOf(const std::string& name) const {
    std::ifstream in(folder_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const fs::path usual_ = fs::current_path(), programs_ = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path folder_ = fs::canonical(::testing::TempDir()) / ("quickstart_command_" + std::to_string(::getpid()));
};

TEST_F(QuickstartCommandTest, AFileIsWrittenAndWhatToTypeNext) {
  EXPECT_EQ(Quickstart({"--model", kModel}), Next("server.yaml", programs_)) << "far from the programs";
  EXPECT_THAT(TextOf("server.yaml"),
              AllOf(StartsWith("# Settings for this machine, by: inferctl quickstart --backend cpu\n"),
                    HasSubstr("\n- path: \"" + kModel + "\"\n")));
  fs::copy_file(kModel, "near.gguf");
  fs::current_path(programs_);
  EXPECT_EQ(Quickstart({"--model", kModel, "--output", (folder_ / "a").string()}), Next((folder_ / "a").string(), "."));
  fs::current_path(programs_.parent_path());
  EXPECT_EQ(Quickstart({"--model", kModel, "--output", (folder_ / "b").string()}),
            Next((folder_ / "b").string(), programs_.filename()));
  fs::current_path(folder_);
  EXPECT_THAT(Quickstart({"--model", "x/../near.gguf", "--output", "c"}), StartsWith("|inferctl: "))
      << "no such folder";
  EXPECT_THAT(Quickstart({"--model", "./near.gguf", "--output", "c"}), StartsWith("c is written"));
  EXPECT_THAT(TextOf("c"), HasSubstr("\n- path: \"" + (folder_ / "near.gguf").string() + "\"\n  id: \"near\"\n"));
}

TEST_F(QuickstartCommandTest, TheFileMayBePrintedOrDescribedAsJson) {
  EXPECT_THAT(Quickstart({"--model", kModel, "--output", "-"}),
              AllOf(StartsWith("# Settings for this machine"), HasSubstr("\"inferflux-tiny\""), EndsWith("\n||0")));
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(Quickstart({"--model", kModel, "--output", "y"}, true),
            R"({"output":"y","backend":"cpu","provider":"native","model":")" + kModel + "\"}\n||0");
  EXPECT_EQ(Quickstart({"--model", kModel, "--output", "-"}, true),
            "|inferctl: --json and --output - both print; choose one\n|2");
  EXPECT_EQ(Quickstart({"--model", kModel, "--output", "y"}),
            "|inferctl: y is there already: --force replaces it, or name another file\n|1");
  std::ofstream("y") << "old";
  EXPECT_THAT(Quickstart({"--model", kModel, "--output", "y", "--force"}), StartsWith("y is written"));
  EXPECT_THAT(TextOf("y"), Not(HasSubstr("old")));
}

TEST_F(QuickstartCommandTest, WhatCannotBeHasItsExitCode) {
  const auto code = [](const std::string& backend, const std::string& model, const std::string& output) {
    return Called(AddQuickstart, {"quickstart", "--backend", backend, "--model", model, "--output", output}).back();
  };
  EXPECT_EQ(code("gpu9", kModel, "z"), '2');
  EXPECT_EQ(code("cpu", "/no/file", "z"), '1');
  EXPECT_EQ(code("cpu", kModel, "no/folder/z"), '1');
  EXPECT_TRUE(fs::is_empty(folder_));
}

constexpr char kAnswer[] =
    "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}],\"usage\":{\"completion_tokens\":3}}\n\n"
    "data: [DONE]\n\n";

class BenchCommandTest : public ::testing::Test {
 protected:
  std::string Bench(std::vector<std::string> words, bool as_json = false) {
    words.insert(words.begin(), {"bench", "-n", "3", "-c", "1", "--prompt-tokens", "2", "--max-tokens", "3"});
    return Called(AddBench, words, {.url = server_.url(), .json = as_json});
  }
  // What was sent but for its first request, which asks whether the server is there.
  static std::vector<std::string> Sent(ScriptedServer& server) {
    auto asked = server.TakeAsked();
    EXPECT_EQ(asked.at(0), "GET /livez");
    asked.erase(asked.begin());
    return asked;
  }

  ScriptedServer server_{Answers{{"POST /v1/completions", kAnswer}}};
};

TEST_F(BenchCommandTest, RoundsAreCountedTogether) {
  const std::string out = Bench({"--rounds", "2", "--model", "m", "--vocab", "2", "--seed", "1"}, true);
  ASSERT_THAT(out, EndsWith("\n||0"));
  const json::value reports = json::parse(out.substr(0, out.size() - 3));
  ASSERT_EQ(reports.as_array().size(), 1u);
  EXPECT_EQ(reports.at(0).at("url").as_string(), server_.url());
  EXPECT_EQ(reports.at(0).at("succeeded"), 6);
  EXPECT_EQ(reports.at(0).at("failed"), 0);
  EXPECT_EQ(reports.at(0).at("output_tokens"), 18);
  const auto sent = Sent(server_);
  ASSERT_EQ(sent.size(), 6u);
  EXPECT_THAT(sent[0], StartsWith(R"(POST /v1/completions {"model":"m","prompt":[1,1],"max_tokens":3,)"));
}

TEST_F(BenchCommandTest, ASeedRepeatsThePromptsAndNoneDoesNot) {
  const auto prompts = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--prompt-tokens", "32"});
    EXPECT_THAT(Called(AddBench,
                       [&] {
                         words.insert(words.begin(), {"bench", "-n", "2", "-c", "1", "--max-tokens", "3"});
                         return words;
                       }(),
                       {.url = server_.url()}),
                EndsWith("||0"));
    return Sent(server_);
  };
  const auto seeded = prompts({"--seed", "5"});
  EXPECT_EQ(prompts({"--seed", "5"}), seeded);
  EXPECT_NE(prompts({"--seed", "6"}), seeded);
  EXPECT_NE(prompts({}), prompts({}));
  const auto shared = prompts({"--seed", "5", "--shared-prefix", "1"});
  EXPECT_EQ(shared[0], shared[1]);
  EXPECT_NE(seeded[0], seeded[1]);
}

TEST_F(BenchCommandTest, TwoServersAreMeasuredAlternately) {
  ScriptedServer other(Answers{});
  const std::string out = Bench({"--against", other.url(), "--rounds", "2", "--seed", "1"});
  EXPECT_THAT(out, StartsWith("server "));
  EXPECT_THAT(out, HasSubstr("\n" + server_.url() + " "));
  EXPECT_THAT(out, EndsWith(fmt::format("\n{}: 6 x the server says (404): no\n||1", other.url()))) << "a failure";
  EXPECT_EQ(Sent(server_), Sent(other)) << "the same prompts";
}

TEST_F(BenchCommandTest, ServersThatAreNotThereAreNotMeasured) {
  EXPECT_EQ(Bench({"--against", "http://127.0.0.1:1"}).back(), '3');
  EXPECT_EQ(Bench({"--against", "https://x"}).back(), '1') << "only plain addresses";
  EXPECT_EQ(Called(AddBench, {"bench"}, {.url = "http://127.0.0.1:1"}).back(), '3');
  for (const std::string& asked : server_.TakeAsked()) EXPECT_EQ(asked, "GET /livez");
}

TEST_F(BenchCommandTest, NumbersReachFromTheLeastToTheMost) {
  struct Range {
    const char *option, *below, *least, *most, *above;
  };
  for (const Range& range : {Range{"--concurrency", "0", "1", "1024", "1025"},
                             {"--requests", "0", "1", "4096", "4097"},
                             {"--prompt-tokens", "0", "1", "1048576", "1048577"},
                             {"--max-tokens", "0", "1", "1048576", "1048577"},
                             {"--vocab", "1", "2", "16777216", "16777217"},
                             {"--rounds", "0", "1", "1000", "1001"},
                             {"--rate", "-0.5", "0", "10000", "10000.5"},
                             {"--shared-prefix", "-0.1", "0", "1", "1.1"}}) {
    const auto with = [&](const char* value) {
      return Called(AddBench, {"bench", std::string(range.option) + "=" + value}, {.url = "http://127.0.0.1:1"});
    };
    for (const char* wrong : {range.below, range.above})
      EXPECT_THAT(with(wrong), HasSubstr("not in range")) << range.option;
    for (const char* right : {range.least, range.most}) EXPECT_EQ(with(right).back(), '3') << range.option;
  }
}

TEST_F(BenchCommandTest, ATerminalShowsHowFarItIs) {
  if (!PseudoTerminal::Available()) GTEST_SKIP() << "there are no pseudo terminals";
  CommandLine line("inferctl", "asks");
  const auto run = AddBench(line);
  ASSERT_TRUE(line.Parse({"bench", "-n", "2", "-c", "1", "--prompt-tokens", "2", "--max-tokens", "4"}));
  const auto settings = config::Resolve({}, {{"INFERFLUX_CLIENT_URL", server_.url()}});
  std::string seen;
  ::testing::internal::CaptureStdout();
  {
    const PseudoTerminal terminal({STDERR_FILENO});
    EXPECT_EQ(run({.settings = *settings}), 1) << "three tokens of four";
    seen = terminal.Seen();
  }
  ::testing::internal::GetCapturedStdout();
  const std::string begin = "\r\033\\[K",
                    row = begin + server_.url() +
                          "  N/2 requests, N failed, [0-9.]+ tokens/s, last first token [0-9]+ ms";
  std::string first = row, second = row;
  for (int i = 0; i < 2; ++i) {
    first.replace(first.find("N"), 1, "1");
    second.replace(second.find("N"), 1, "2");
  }
  EXPECT_THAT(seen, MatchesRegex(first + second + begin));
}

}  // namespace
}  // namespace inferflux::apps
