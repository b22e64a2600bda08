#include "config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "config/resolve.h"

namespace inferflux::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FlagsTest, LongAndShortFormsSetTheSameKey) {
  for (const char* flag : {"--port", "--server-port"}) {
    CommandLine line("server", "serves");
    FlagValues values;
    AddFlags(line, kServer, values);
    ASSERT_TRUE(line.Parse({flag, "9000", "--model", "a.gguf", "--model", "b.gguf"}).has_value());
    const auto settings = Resolve(values, {});
    ASSERT_TRUE(settings.has_value()) << settings.error().message;
    EXPECT_EQ(settings->Integer("server.port"), 9000);
    EXPECT_EQ(settings->models().size(), 2u);
  }
}

TEST(FlagsTest, AModelMayBeAWordAndLettersAreAsPeopleTypeThem) {
  CommandLine line("server", "serves");
  FlagValues values;
  AddFlags(line, kServer, values);
  const auto parsed = line.Parse({"a.gguf", "-c", "512", "-m", "b.gguf"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const auto settings = Resolve(values, {});
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->Integer("runtime.context"), 512);
  ASSERT_EQ(settings->models().size(), 2u);
}

TEST(FlagsTest, SeveralModelsAreWordsAndFlagsInTheirOrder) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"a.gguf", "x=b.gguf", "-m", "c.gguf"},
                                                {"-m", "a.gguf", "x=b.gguf", "-c", "512", "c.gguf"},
                                                {"--model=a.gguf", "-c", "512", "x=b.gguf", "-mc.gguf"}}) {
    CommandLine line("server", "serves");
    FlagValues values;
    AddFlags(line, kServer, values);
    const auto parsed = line.Parse(words);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    const auto settings = Resolve(values, {});
    ASSERT_TRUE(settings.has_value()) << settings.error().message;
    std::vector<std::string> ids;
    for (const auto& model : settings->models()) ids.push_back(model.id);
    EXPECT_EQ(ids, (std::vector<std::string>{"a", "x", "c"}));
  }
}

TEST(FlagsTest, FlagsOfOtherServersSetTheSameKeys) {
  const auto settings = [](const std::vector<std::string>& words) {
    CommandLine line("server", "serves");
    FlagValues values;
    AddFlags(line, kServer, values);
    const auto parsed = line.Parse(words);
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
    return Resolve(values, {});
  };
  const auto theirs =
      settings({"-m", "dir/a.gguf", "-ngl", "20", "-np", "4", "--ctx-size", "512", "-t", "3", "-a", "gpt-4o"});
  ASSERT_TRUE(theirs.has_value()) << theirs.error().message;
  EXPECT_EQ(theirs->Integer("runtime.llama_cpp.gpu_layers"), 20);
  EXPECT_EQ(theirs->Integer("runtime.max_running"), 4);
  EXPECT_EQ(theirs->Integer("runtime.context"), 512);
  EXPECT_EQ(theirs->Integer("runtime.threads"), 3);
  EXPECT_EQ(theirs->models().front().id, "gpt-4o");
  const auto vllm = settings(
      {"dir/a", "--max-model-len=256", "--max-num-seqs", "8", "--served-model-name", "b", "--api-key", "sk-x"});
  ASSERT_TRUE(vllm.has_value()) << vllm.error().message;
  EXPECT_EQ(vllm->Integer("runtime.max_running"), 8);
  EXPECT_EQ(vllm->models().front().id, "b");
  EXPECT_EQ(vllm->Text("server.api_key"), "sk-x");
  EXPECT_THAT(vllm->Describe(kServer), AllOf(HasSubstr("server.api_key = (set, not shown)"), Not(HasSubstr("sk-x"))));
  const auto two = settings({"a.gguf", "-m", "b.gguf", "--served-model-name", "c"});
  ASSERT_FALSE(two.has_value());
  EXPECT_THAT(two.error().message, AllOf(HasSubstr("there are 2"), HasSubstr("--model ID=FILE")));
}

TEST(FlagsTest, ASizeHasTheUnitsThatPeopleWrite) {
  const std::pair<const char*, int64_t> sizes[] = {{"1GB", 1'000'000'000}, {"1 GB", 1'000'000'000},
                                                   {"3MB", 3'000'000},     {"2G", int64_t{2} << 30},
                                                   {"512M", 512 << 20},    {"4KiB", 4096}};
  for (const auto& [text, bytes] : sizes) {
    CommandLine line("server", "serves");
    FlagValues values;
    AddFlags(line, kServer, values);
    ASSERT_TRUE(line.Parse({"--kv-budget", text}).has_value());
    const auto settings = Resolve(values, {});
    ASSERT_TRUE(settings.has_value()) << settings.error().message;
    EXPECT_EQ(settings->Bytes("runtime.kv_budget"), bytes) << text;
  }
  CommandLine line("server", "serves");
  FlagValues values;
  AddFlags(line, kServer, values);
  ASSERT_TRUE(line.Parse({"--kv-budget", "1PB"}).has_value());
  const auto refused = Resolve(values, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("such as 64MiB or 2GB"));
}

TEST(FlagsTest, AHomeThatNoShellExpandedIsExpanded) {
  CommandLine line("server", "serves");
  FlagValues values;
  AddFlags(line, kServer, values);
  ASSERT_TRUE(line.Parse({"--model=x=~/x.gguf", "--models-dir=~/models"}).has_value());
  const auto settings = Resolve(values, {});
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  const std::string home = std::getenv("HOME");
  EXPECT_EQ(settings->models().front().path, home + "/x.gguf");
  EXPECT_EQ(settings->Text("runtime.models_dir"), home + "/models");
}

TEST(FlagsTest, AProgramOffersItsOwnKeysOnly) {
  CommandLine line("client", "asks");
  FlagValues values;
  AddFlags(line, kClient, values);
  const auto help = line.Parse({"--help"});
  ASSERT_TRUE(help.has_value() && help->has_value());
  EXPECT_THAT(**help, AllOf(HasSubstr("--url"), HasSubstr("--log-level"), Not(HasSubstr("--port"))));
}

}  // namespace
}  // namespace inferflux::config
