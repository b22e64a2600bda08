// Options that only some programs have: of two values at a time, without a placeholder, and those that end the parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "command_line/command_line.h"

namespace inferflux {
namespace {

// With CLI11's own settings of an option.
class OpenCommandLine : public CommandLine {
 public:
  using CommandLine::CommandLine;
  CLI::Option& option(const std::string& name) { return *app_->get_option(name); }
};

TEST(OddOptionsTest, AnOptionOfTwoValuesIsShownAsOneOfSeveral) {
  OpenCommandLine line("program", "does things");
  std::vector<std::string> pair, one;
  line.Add("--pair", pair, "");
  line.Add("--one", one, "");
  line.option("--pair").expected(2);
  line.option("--one").expected(1);
  const CommandDescription program = line.Describe();
  ASSERT_EQ(program.options.size(), 3u);
  EXPECT_EQ(program.options[1].names, std::vector<std::string>{"--pair"});
  EXPECT_TRUE(program.options[1].repeats);
  EXPECT_FALSE(program.options[2].repeats);
}

TEST(OddOptionsTest, AnOptionWithoutAPlaceholderTakesAValueAllTheSame) {
  CommandLine line("program", "does things");
  std::string text;
  line.Add("--text", text, "help").Shown("");
  line.SetFooter("at the end");
  const CommandDescription program = line.Describe();
  EXPECT_EQ(program.name, "program");
  EXPECT_EQ(program.about, "does things");
  EXPECT_EQ(program.footer, "at the end");
  ASSERT_EQ(program.options.size(), 2u);
  EXPECT_EQ(program.options[1].value, "VALUE");
  EXPECT_EQ(program.options[1].help, "help");
  EXPECT_FALSE(program.options[1].required);
}

TEST(OddOptionsTest, ScriptsAndThePageAreThereAlsoWhereAWordIsMissing) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--print-completion", "fish"}, {"--print-man"}}) {
    CommandLine line("program", "does things", "1.2");
    std::string file;
    line.Add("FILE", file, "the file").Required();
    line.AddPrinters();
    const auto ended = line.Parse(words);
    ASSERT_TRUE(ended && *ended) << words[0];
    EXPECT_THAT(**ended, ::testing::HasSubstr("print a completion script for a shell, and exit")) << words[0];
  }
}

}  // namespace
}  // namespace inferflux
