// inferflux-bench from its command line: which tests it runs, what a row says, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/inferflux_bench/report.h"
#include "apps/run_main.h"

int BenchMain(int argc, char** argv);

namespace inferflux::apps {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Ended Bench(std::vector<std::string> words) { return RunMain(BenchMain, std::move(words)); }

const std::string kModels = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/",
                  kTiny = kModels + "inferflux-tiny.gguf";

TEST(BenchProgramTest, EachTestIsARowWithItsFigures) {
  const Ended ended = Bench({"-m", kTiny, "-p", "0,3", "-n", "2", "-d", "0,5", "-b", "1,2", "-r", "1", "-t", "1", "-o",
                             "json", "--kv", "fp32"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json::value parsed = json::parse(ended.out);
  std::vector<std::string> tests;
  for (const json::value& row : parsed.as_array()) {
    tests.emplace_back(row.at("test").as_string());
    EXPECT_GT(row.at("tokens_per_second").as_double(), 0.0);
    EXPECT_EQ(row.at("stddev").as_double(), 0.0) << "of one repetition";
    EXPECT_GT(row.at("ceiling_share").as_double(), 0.0);
    EXPECT_TRUE(row.at("bound") == "bandwidth" || row.at("bound") == "compute");
    EXPECT_EQ(row.at("backend"), "cpu");
    EXPECT_EQ(row.at("device"), "");
    EXPECT_NE(row.at("isa"), "");
    EXPECT_EQ(row.at("threads"), 1);
    EXPECT_EQ(row.at("model"), "inferflux-tiny");
    EXPECT_EQ(row.at("type"), parsed.at(0).at("type"));
    EXPECT_NE(row.at("type"), "Q4_K_M") << "that of the file";
    EXPECT_GT(row.at("device_share").as_double(), 0.0);
    EXPECT_LE(row.at("device_share").as_double(), 1.0);
    EXPECT_GT(row.at("load_seconds").as_double(), 0.0);
    EXPECT_LT(row.at("load_seconds").as_double(), 100.0);
    EXPECT_FALSE(row.as_object().contains("profile"));
  }
  EXPECT_THAT(tests, ElementsAre("pp3", "tg2", "tg2xb2", "tg2@d5", "tg2@d5xb2"));
}

TEST(BenchProgramTest, AShapeIsProfiled) {
  const Ended ended =
      Bench({"--shape", "tiny", "--type", "F16", "-p", "4", "-n", "0", "-r", "3", "--profile", "-o", "json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json::value rows = json::parse(ended.out);
  ASSERT_EQ(rows.as_array().size(), 1u);
  const json::value& row = rows.at(0);
  EXPECT_EQ(row.at("test"), "pp4");
  EXPECT_EQ(row.at("model"), "tiny");
  EXPECT_EQ(row.at("type"), "F16");
  EXPECT_GT(row.at("stddev").as_double(), 0.0);
  double share = 0;
  for (const json::value& line : row.at("profile").as_array()) share += line.at("time_share").as_double();
  EXPECT_NEAR(share, 1.0, 1e-6) << "of the time of all repetitions";
  EXPECT_EQ(row.at("profile").as_array().back().at("operation"), "between operations");
  EXPECT_GT(row.at("profile").as_array().back().at("seconds").as_double(), 0.0);
}

TEST(BenchProgramTest, ADirectoryIsNamedWithItsDots) {
  const std::string name = fmt::format("bench_{}_qwen-0.5b", ::getpid());
  const std::string directory = ::testing::TempDir() + name;
  fs::remove_all(directory);
  fs::copy(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/models/llama3-hf", directory);
  const Ended ended = Bench({"-m", directory, "-p", "4", "-n", "0", "-r", "1", "-t", "1"});
  fs::remove_all(directory);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(StartsWith("test "), HasSubstr("\npp4 "), HasSubstr("), 1 threads, " + name + " F32\n")));
}

TEST(BenchProgramTest, MasksAreTimedInPlaceOfTheModel) {
  const std::string path = fmt::format("{}bench_program_{}.jsonl", ::testing::TempDir(), ::getpid());
  std::ofstream(path) << R"({"name":"n","schema":{"type":"integer"},"tests":[{"valid":false,"data":1}]})" << '\n';
  const Ended ended = Bench({"-m", kTiny, "--masks", path, "--cpu-time", "--list-wrong"});
  const Ended plain = Bench({"-m", kTiny, "--masks", path});
  fs::remove(path);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(StartsWith("false accept: n: 1\n"), HasSubstr("\nCPU us ")));
  EXPECT_THAT(plain.out, AllOf(StartsWith("3072 tokens; 1 schemas"), HasSubstr("\nus  ")));
  const Ended none = Bench({"-m", kTiny, "--masks", path});
  EXPECT_EQ(none.err, "inferflux-bench: no file " + path + "\n");
  EXPECT_EQ(none.code, 1);
}

TEST(BenchProgramTest, AModelOrAShapeIsNeeded) {
  const Ended neither = Bench({});
  EXPECT_EQ(neither.err, "inferflux-bench: give a model (-m) or a shape (--shape)\n");
  EXPECT_EQ(neither.code, 2);
  for (const auto& [words, names] : {std::pair<std::vector<std::string>, std::vector<std::string>>{
                                         {"-m", "a", "--shape", "tiny"}, {"--model", "--shape"}},
                                     {{"-m", "a", "--type", "F16"}, {"--type", "--shape"}},
                                     {{"-m", "a", "--profile", "--backend", "cpu"}, {"--profile", "--backend"}},
                                     {{"--shape", "tiny", "--masks", "m"}, {"--masks", "--model"}},
                                     {{"-m", "a", "--cpu-time"}, {"--cpu-time", "--masks"}},
                                     {{"-m", "a", "--list-wrong"}, {"--list-wrong", "--masks"}}}) {
    const Ended ended = Bench(words);
    EXPECT_EQ(ended.code, 2) << names[0];
    EXPECT_THAT(ended.err, AllOf(HasSubstr(names[0]), HasSubstr(names[1])));
  }
  const Ended shape = Bench({"--shape", "huge"});
  EXPECT_THAT(shape.err, StartsWith("inferflux-bench: no shape 'huge': there are tiny, "));
  EXPECT_EQ(shape.code, 1);
}

TEST(BenchProgramTest, NumbersReachFromTheLeastToTheMost) {
  struct Range {
    const char* option;
    int64_t least, most;
  };
  for (const Range& range : {Range{"--prompt", 0, 1 << 20},
                             {"--decode", 0, 1 << 20},
                             {"--depth", 0, 1 << 20},
                             {"--batch", 1, 1024},
                             {"--threads", 1, 1024},
                             {"--repetitions", 1, 1000}}) {
    const auto with = [&](int64_t number) {
      return Bench({"-m", "/no/file", fmt::format("{}={}", range.option, number)});
    };
    for (const int64_t wrong : {range.least - 1, range.most + 1}) {
      const Ended refused = with(wrong);
      EXPECT_EQ(refused.code, 2) << range.option << wrong;
      EXPECT_THAT(refused.err, HasSubstr(fmt::format("{} to {}", range.least, range.most)));
    }
    for (const int64_t right : {range.least, range.most}) {
      const Ended taken = with(right);
      EXPECT_EQ(taken.code, 1) << range.option << right;
      EXPECT_THAT(taken.err, StartsWith("inferflux-bench: there is no model file or directory '/no/file'"));
    }
  }
  for (const char* lists : {"--prompt=1,2", "--depth=1,2", "--batch=1,2"})
    EXPECT_EQ(Bench({"-m", "/no/file", lists}).code, 1) << lists;
  EXPECT_THAT(Bench({"-m", "a", "--kv", "fp64"}).err, HasSubstr("{fp32,fp16,bf16,int8,fp8}"));
  EXPECT_THAT(Bench({"-m", "a", "-o", "yaml"}).err, HasSubstr("{table,json}"));
  EXPECT_THAT(Bench({"-m", kTiny, "--backend", "nope", "-t", "1"}).err, HasSubstr("nope"));
}

TEST(BenchProgramTest, TheHelpHasTheDefaults) {
  const Ended help = Bench({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* part : {"--model MODEL", "random weights in this shape instead: tiny, ", "--type TEXT=Q4_K_M ",
                           "--prompt INT:INT in [0 - 1048576]=[512] ", "--decode INT:INT in [0 - 1048576]=64\n",
                           "--depth INT:INT in [0 - 1048576]=[0] ", "--batch INT:INT in [1 - 1024]=[1] ",
                           "--repetitions INT:INT in [1 - 1000]=3\n", "--backend TEXT=cpu ", "the compute backend: cpu",
                           "--kv TEXT:{fp32,fp16,bf16,int8,fp8}=fp16\n", "--output TEXT:{table,json}=table\n",
                           "--masks FILE.jsonl[.gz] "}) {
    EXPECT_THAT(help.out, HasSubstr(part));
  }
  EXPECT_THAT(Bench({"--print-man"}).out, StartsWith(".TH INFERFLUX-BENCH 1 "));
}

}  // namespace
}  // namespace inferflux::apps
