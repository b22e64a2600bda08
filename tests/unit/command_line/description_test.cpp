#include "command_line/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command_line/command_line.h"

namespace inferflux {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A program with one of each: a choice, a file, a spelling, a flag, a command of a command, a word.
class DescriptionTest : public ::testing::Test {
 protected:
  DescriptionTest() {
    line_.Add("--url,-u", text_, "the server's [address]").Shown("URL");
    line_.Add("--level", text_, "how much: it's a choice").OneOf({"debug", "info"});
    line_.Add("--mode", text_, "as settings show a choice").Shown("on|off");
    line_.Add("--config", text_, "settings").Shown("FILE");
    line_.AddFlag("--json", flag_, "print JSON");
    line_.AddSpelling("-ngl", "--level");
    Command admin = line_.AddCommand("admin", "looks after models");
    Command load = admin.AddCommand("load", "loads a model");
    load.Add("MODEL", text_, "which").Required();
    load.Add("--pin", text_, "for how long");
    line_.AddPrinters();
  }
  std::string Printed(const std::vector<std::string>& words) {
    const auto ended = line_.Parse(words);
    EXPECT_TRUE(ended.has_value()) << ended.error().message;
    return ended && *ended ? **ended : "";
  }

  CommandLine line_{"program", "Does things.\n\nAnd more.", "1.2"};
  std::string text_;
  bool flag_ = false;
};

TEST_F(DescriptionTest, HasTheWholeTable) {
  const CommandDescription program = line_.Describe();
  const auto option = [&](const std::string& name) -> const OptionDescription& {
    for (const OptionDescription& each : program.options) {
      for (const std::string& known : each.names) {
        if (known == name) return each;
      }
    }
    ADD_FAILURE() << name;
    return program.options.front();
  };
  EXPECT_THAT(option("-u").names, ElementsAre("--url", "-u"));
  EXPECT_THAT(option("-ngl").choices, ElementsAre("debug", "info"));
  EXPECT_THAT(option("--mode").choices, ElementsAre("on", "off"));
  EXPECT_TRUE(option("--config").takes_file);
  EXPECT_EQ(option("--json").value, "");
  ASSERT_EQ(program.commands.size(), 1u);
  const CommandDescription& load = program.commands.front().commands.front();
  EXPECT_EQ(load.name, "load");
  ASSERT_EQ(load.words.size(), 1u);
  EXPECT_EQ(load.words.front().value, "MODEL");
  EXPECT_TRUE(load.words.front().required);
}

TEST_F(DescriptionTest, EachShellsScriptHasEachOptionInItsForm) {
  EXPECT_THAT(
      Printed({"--print-completion", "bash"}),
      AllOf(HasSubstr("--url -u --level -ngl"), HasSubstr("*':--level'|*':-ngl') COMPREPLY=($(compgen -W 'debug info'"),
            HasSubstr("'program admin load') words='--help -h --pin"), HasSubstr("complete -o default")));
  EXPECT_THAT(Printed({"--print-completion=zsh"}),
              AllOf(StartsWith("#compdef program"), HasSubstr("'-u[the server'\\''s \\[address\\]]:URL: '"),
                    HasSubstr("'--level[how much\\: it'\\''s a choice; also -ngl]:TEXT:(debug info)'"),
                    HasSubstr("_program_admin_load() {")));
  EXPECT_THAT(Printed({"--print-completion", "fish"}),
              AllOf(HasSubstr("complete -c program -l url -s u -x"), HasSubstr("-l level -o ngl -x -a 'debug info'"),
                    HasSubstr("-l config -rF"),
                    HasSubstr("__fish_seen_subcommand_from admin; and __fish_seen_subcommand_from load")));
}

TEST_F(DescriptionTest, TheManualPageHasOptionsCommandsAndExitCodes) {
  EXPECT_THAT(Printed({"--print-man"}),
              AllOf(StartsWith(".TH PROGRAM 1 \"\" \"InferFlux 1.2\""), HasSubstr("program \\- Does things.\n"),
                    HasSubstr("\\fB\\-\\-url\\fR, \\fB\\-u\\fR \\fIURL\\fR"), HasSubstr(".SS program admin load"),
                    HasSubstr("\\fB130\\fR\ninterrupted")));
}

TEST_F(DescriptionTest, AShellThatIsNotKnownIsRefused) {
  const auto ended = line_.Parse({"--print-completion", "csh"});
  ASSERT_FALSE(ended.has_value());
  EXPECT_THAT(ended.error().message, HasSubstr("bash"));
}

}  // namespace
}  // namespace inferflux
