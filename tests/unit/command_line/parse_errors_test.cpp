// What a command line refuses, and with which words; what it prints where it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.h"

namespace inferflux {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Outcome(CommandLine& line, const std::vector<std::string>& words) {
  const auto ended = line.Parse(words);
  if (!ended) return ended.error().message;
  return ended->value_or("");
}

TEST(ParseErrorsTest, ARangeHoldsItsEnds) {
  int threads = 0;
  double rate = 0;
  const auto accepts = [&](const char* option, const char* value) {
    CommandLine line("program", "does things");
    line.Add("--threads", threads, "threads").Between(2, 8);
    line.Add("--rate", rate, "a rate").Between(0.5, 2.5);
    return Outcome(line, {option, value}).empty();
  };
  EXPECT_TRUE(accepts("--threads", "2") && accepts("--threads", "8"));
  EXPECT_FALSE(accepts("--threads", "1") || accepts("--threads", "9"));
  EXPECT_TRUE(accepts("--rate", "0.5") && accepts("--rate", "2.5"));
  EXPECT_FALSE(accepts("--rate", "0.4") || accepts("--rate", "2.6"));
}

TEST(ParseErrorsTest, WhatIsNotKnownIsSaidBeforeWhatIsMissing) {
  std::string file, url;
  int threads = 0;
  const auto said = [&](const std::vector<std::string>& words) {
    CommandLine line("program", "does things");
    line.Add("FILE", file, "the file").Required();
    line.Add("--url", url, "an address");
    line.Add("--threads", threads, "threads").Between(1, 8);
    line.AddCommand("list", "lists");
    return Outcome(line, words);
  };
  EXPECT_EQ(said({}), "FILE is required; see --help");
  EXPECT_EQ(said({"--urk"}), "unknown flag '--urk'; did you mean '--url'?; see --help");
  EXPECT_EQ(said({"a", "b"}), "unexpected argument 'b'; see --help");
  EXPECT_EQ(said({"a", "lisst"}), "unexpected argument 'lisst'; did you mean 'list'?; see --help");
  EXPECT_EQ(said({"a", "b", "--nothing-like-it=1"}), "unknown flag '--nothing-like-it'; see --help")
      << "an option, not the value that it leaves over";
  EXPECT_THAT(said({"a", "--urk", "--threads", "9"}), HasSubstr("--threads")) << "a wrong value is said first";
  EXPECT_EQ(said({"a", "--"}), "");
}

TEST(ParseErrorsTest, AListTakesOneValueEachTimeOrAllOfThem) {
  std::vector<std::string> models, words;
  CommandLine line("program", "does things");
  line.Add("--model", models, "models").OneEachTime();
  line.Add("WORD", words, "words");
  EXPECT_EQ(Outcome(line, {"--model", "a", "b", "--model", "c"}), "");
  EXPECT_EQ(models, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(words, std::vector<std::string>{"b"});
}

TEST(ParseErrorsTest, EachTypeOfOptionIsRead) {
  std::string text;
  int number = 0;
  int64_t signed_long = 0;
  uint64_t unsigned_long = 0;
  double share = 0;
  std::optional<std::string> maybe_text;
  std::optional<int64_t> maybe_number;
  std::optional<double> maybe_share;
  std::string taken;
  CommandLine line("program", "does things");
  const CommandOption given = line.Add("--text", text, "");
  line.Add("--int", number, "");
  line.Add("--signed", signed_long, "");
  line.Add("--unsigned", unsigned_long, "");
  line.Add("--double", share, "");
  line.Add("--maybe-text", maybe_text, "");
  line.Add("--maybe-int", maybe_number, "");
  line.Add("--maybe-double", maybe_share, "");
  line.Add(
      "--take", [&](const std::string& value) { taken = value; }, "");
  EXPECT_EQ(Outcome(line, {"--text", "a", "--int", "-1", "--signed", "-9000000000", "--unsigned",
                           "18446744073709551615", "--double", "0.25", "--maybe-text", "b", "--maybe-int", "5",
                           "--maybe-double", "0.5", "--take", "c"}),
            "");
  EXPECT_TRUE(given.given());
  EXPECT_EQ(text, "a");
  EXPECT_EQ(number, -1);
  EXPECT_EQ(signed_long, -9000000000);
  EXPECT_EQ(unsigned_long, 18446744073709551615u);
  EXPECT_EQ(share, 0.25);
  EXPECT_EQ(maybe_text, "b");
  EXPECT_EQ(maybe_number, 5);
  EXPECT_EQ(maybe_share, 0.5);
  EXPECT_EQ(taken, "c");
}

TEST(ParseErrorsTest, HelpOfACommandHasThatOfTheProgramsOptions) {
  int threads = 3;
  std::string file;
  CommandLine line("program", "does things", "1.2");
  line.Add("--threads", threads, "how many");
  line.Add("FILE", file, "the file");
  line.SetFooter("at the end");
  line.AddCommand("list", "lists them");
  EXPECT_EQ(Outcome(line, {"list", "--help"}),
            "lists them\n"
            "Usage: program list [OPTIONS]\n\n"
            "Options:\n"
            "  -h,--help                   Print this help message and exit\n\n"
            "Options of every command:\n"
            "  --threads INT               how many\n");
  EXPECT_THAT(Outcome(line, {"--help"}), Not(HasSubstr("Options of every command")));
  EXPECT_EQ(Outcome(line, {"list", "--version"}), "program 1.2\n");
  CommandLine without("program", "does things");
  EXPECT_EQ(Outcome(without, {"--version"}), "unknown flag '--version'; see --help");
}

TEST(ParseErrorsTest, AProgramPrintsItsErrorWithItsName) {
  CommandLine line("program", "does things", "1.2");
  const char* const wrong[] = {"program", "--urk"};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(line.Parse(2, wrong), kUsageError);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "program: unknown flag '--urk'; see --help\n");
  const char* const asked[] = {"program", "--version"};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(line.Parse(2, asked), kOk);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "program 1.2\n");
  EXPECT_EQ(line.Parse(1, asked), std::nullopt) << "the program's name is no word";
}

// What an option takes, by its placeholder: "VALUE", the choices, and '*' for files.
std::string Taken(const CommandDescription& program, const std::string& name) {
  for (const OptionDescription& option : program.options) {
    if (option.names.front() != name) continue;
    std::string out = option.value;
    for (const std::string& choice : option.choices) out += " " + choice;
    return out + (option.takes_file ? "*" : "") + (option.repeats ? "..." : "");
  }
  return "(no such option)";
}

TEST(DescribeTest, APlaceholderSaysWhatAnOptionTakes) {
  CommandLine line("program", "does things");
  std::string text;
  std::vector<std::string> texts;
  bool flag = false;
  const std::pair<const char*, const char*> placeholders[] = {{"on|off", "on|off on off"},
                                                              {"N|UUID|PCI", "N|UUID|PCI"},
                                                              {"FILE", "FILE*"},
                                                              {"MODELS_DIR", "MODELS_DIR*"},
                                                              {"A PATH", "A PATH*"},
                                                              {"x.gguf", "x.gguf*"},
                                                              {"N", "N"},
                                                              {"{a,b}", "{a,b} a b"},
                                                              {"T:{a,b|c}", "T a b c"},
                                                              {"{a|b", "{a|b {a b"},
                                                              {"a}|b", "a}|b a} b"},
                                                              {"}|{", "}|{ } {"},
                                                              {"T:{}", "T"}};
  size_t number = 0;
  for (const auto& [shown, taken] : placeholders) line.Add("--o" + std::to_string(number++), text, "").Shown(shown);
  line.Add("--plain", text, "a file");
  line.Add("--gguf", text, "GGUF file to read");
  line.Add("--other", text, "GGUF only");
  line.Add("--many", texts, "");
  line.Add("--each", texts, "").OneEachTime();
  line.AddFlag("--flag", flag, "");
  line.Add("-m,--both,BOTH", text, "").Required();
  line.Add("WORDS", texts, "");
  const CommandDescription program = line.Describe();
  number = 0;
  for (const auto& [shown, taken] : placeholders)
    EXPECT_EQ(Taken(program, "--o" + std::to_string(number++)), taken) << shown;
  EXPECT_EQ(Taken(program, "--plain"), "TEXT");
  EXPECT_EQ(Taken(program, "--gguf"), "TEXT*");
  EXPECT_EQ(Taken(program, "--other"), "TEXT");
  EXPECT_EQ(Taken(program, "--many"), "TEXT...");
  EXPECT_EQ(Taken(program, "--each"), "TEXT...");
  EXPECT_EQ(Taken(program, "--flag"), "");
  EXPECT_EQ(Taken(program, "--both"), "TEXT");
  ASSERT_EQ(program.words.size(), 2u);
  EXPECT_EQ(program.words[0].value, "BOTH");
  EXPECT_TRUE(program.words[0].names.empty());
  EXPECT_TRUE(program.words[0].required && !program.words[0].repeats);
  EXPECT_EQ(program.words[1].value, "WORDS");
  EXPECT_TRUE(program.words[1].repeats && !program.words[1].required);
}

TEST(ParseErrorsTest, ExitCodesHaveOneLine) {
  EXPECT_EQ(ExitCodesLine(), "0 done, 1 failed, 2 wrong usage, 3 no server answers, 130 interrupted");
}

}  // namespace
}  // namespace inferflux
