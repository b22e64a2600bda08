#include "command_line/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

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
    line_.Add("--each", several_, "several values");
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
  std::vector<std::string> several_;
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
  EXPECT_FALSE(option("--config").repeats);
  EXPECT_TRUE(option("--each").repeats);
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

// What bash offers behind these words, of which the last may be empty; in the order of the script.
std::vector<std::string> Offered(const std::string& script, const std::vector<std::string>& words) {
  const std::string path = ::testing::TempDir() + "inferflux_completion.bash";
  std::ofstream out(path);
  out << script << "COMP_WORDS=(";
  for (const std::string& word : words) out << " '" << word << "'";
  out << ")\nCOMP_CWORD=" << words.size() - 1 << "\n_program\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  out.close();
  std::vector<std::string> offered;
  std::FILE* bash = ::popen(("bash --norc " + path + " 2>&1").c_str(), "r");
  char line[256];
  while (std::fgets(line, sizeof line, bash) != nullptr) {
    offered.emplace_back(line);
    offered.back().pop_back();
  }
  ::pclose(bash);
  std::remove(path.c_str());
  return offered;
}

TEST_F(DescriptionTest, BashOffersWhatMayFollow) {
  if (std::system("bash -c 'compgen -W x' > /dev/null 2>&1") != 0) GTEST_SKIP() << "no bash that completes";
  const std::string script = Printed({"--print-completion", "bash"});
  EXPECT_THAT(Offered(script, {"program", "ad"}), ElementsAre("admin"));
  EXPECT_THAT(Offered(script, {"program", "--js"}), ElementsAre("--json")) << "once";
  EXPECT_THAT(Offered(script, {"program", "admin", "lo"}), ElementsAre("load"));
  EXPECT_THAT(Offered(script, {"program", "admin", "load", "--p"}),
              ElementsAre("--pin", "--print-completion", "--print-man"));
  EXPECT_THAT(Offered(script, {"program", "admin", "load", "--js"}), ElementsAre("--json")) << "the program's own";
  EXPECT_THAT(Offered(script, {"program", "--level", ""}), ElementsAre("debug", "info"));
  EXPECT_THAT(Offered(script, {"program", "--level", "=", "de"}), ElementsAre("debug"));
  EXPECT_THAT(Offered(script, {"program", "--url", "admin", "ad"}), ElementsAre("admin")) << "a value is no command";
}

TEST_F(DescriptionTest, TheManualPageHasOptionsCommandsAndExitCodes) {
  EXPECT_THAT(Printed({"--print-man"}),
              AllOf(StartsWith(".TH PROGRAM 1 \"\" \"InferFlux 1.2\""), HasSubstr("program \\- Does things.\n"),
                    HasSubstr("\\fB\\-\\-url\\fR, \\fB\\-u\\fR \\fIURL\\fR"), HasSubstr(".SS program admin load"),
                    HasSubstr("\n.SH EXIT STATUS\n"), HasSubstr("\\fB130\\fR\ninterrupted")));
}

TEST_F(DescriptionTest, AShellThatIsNotKnownIsRefused) {
  const auto ended = line_.Parse({"--print-completion", "csh"});
  ASSERT_FALSE(ended.has_value());
  EXPECT_THAT(ended.error().message, HasSubstr("bash"));
}

}  // namespace
}  // namespace inferflux
