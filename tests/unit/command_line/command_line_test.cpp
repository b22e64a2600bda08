#include "command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferflux {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// What a parse of `words` says: the error, or the text that --help and --version print; nothing where it goes on.
std::string Said(CommandLine& line, const std::vector<std::string>& words) {
  const auto ended = line.Parse(words);
  if (!ended) return ended.error().message;
  return ended->value_or("");
}

TEST(CommandLineTest, OptionsAndWordsAreFilled) {
  CommandLine line("program", "does things");
  std::string file, word;
  std::vector<int> numbers{7};
  std::vector<std::string> models;
  std::optional<double> share;
  std::optional<int64_t> seed;
  bool loud = false, repack = true;
  line.Add("FILE", file, "the file").Required();
  line.Add("WORD", word, "a word");
  line.Add("-p,--prompt", numbers, "numbers").SplitAtCommas();
  line.Add("--model", models, "models").OneEachTime();
  line.Add("--share", share, "a share");
  const CommandOption seeded = line.Add("--seed", seed, "a seed");
  line.AddFlag("--loud", loud, "be loud");
  line.AddFlag("!--no-repack", repack, "do not repack");
  EXPECT_EQ(Said(line, {"--model", "a", "in.txt", "-p", "1,2,3", "--loud", "--model=b", "--share", "0.5", "--no-repack",
                        "it"}),
            "");
  EXPECT_EQ(file, "in.txt");
  EXPECT_EQ(word, "it");
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
  EXPECT_THAT(models, ElementsAre("a", "b"));
  EXPECT_EQ(share, 0.5);
  EXPECT_FALSE(seed.has_value());
  EXPECT_FALSE(seeded.given());
  EXPECT_TRUE(loud);
  EXPECT_FALSE(repack);
}

TEST(CommandLineTest, AProgramGoesOnOrEndsWithAnExitCode) {
  const auto parse = [](const char* word) {
    CommandLine line("program", "does things");
    int number = 0;
    line.Add("NUMBER", number, "a number");
    const char* const words[] = {"program", word};
    return line.Parse(2, words);
  };
  EXPECT_EQ(parse("7"), std::nullopt);
  EXPECT_EQ(parse("--help"), 0);
  EXPECT_EQ(parse("seven"), 2);
}

TEST(CommandLineTest, AnErrorNamesWhatIsWrong) {
  std::string type = "a", model, shape;
  int threads = 1;
  double rate = 1.0;
  const auto said = [&](const std::vector<std::string>& words) {
    CommandLine line("program", "does things");
    line.Add("--threads", threads, "threads").Between(1, 8);
    line.Add("--rate", rate, "a rate").Between(0.0, 2.5);
    line.Add("--type", type, "a type").OneOf({"a", "b"});
    CommandOption given = line.Add("--model", model, "a model");
    line.Add("--shape", shape, "a shape").Excludes(given);
    line.Add("--masks", shape, "masks").Needs(given);
    return Said(line, words);
  };
  EXPECT_THAT(said({"--threads", "9"}), AllOf(HasSubstr("--threads"), HasSubstr("1 to 8"), HasSubstr("see --help")));
  EXPECT_THAT(said({"--threads", "x"}), HasSubstr("--threads"));
  EXPECT_THAT(said({"--threads", "99999999999"}), HasSubstr("--threads"));
  EXPECT_THAT(said({"--rate", "2.6"}), HasSubstr("--rate"));
  EXPECT_THAT(said({"--type", "c"}), AllOf(HasSubstr("--type"), HasSubstr("{a,b}")));
  EXPECT_THAT(said({"--shape", "x", "--model", "y"}), AllOf(HasSubstr("--shape"), HasSubstr("--model")));
  EXPECT_THAT(said({"--masks", "x"}), AllOf(HasSubstr("--masks"), HasSubstr("--model")));
  EXPECT_THAT(said({"--threads"}), HasSubstr("--threads"));
  EXPECT_EQ(said({"--threads", "8", "--rate", "2.5", "--type", "b"}), "");
}

TEST(CommandLineTest, WhatIsNotKnownSuggestsTheNearest) {
  std::string url, id;
  const auto said = [&](const std::vector<std::string>& words) {
    CommandLine line("program", "does things");
    line.Add("--url", url, "an address");
    Command admin = line.AddCommand("admin", "looks after models");
    admin.RequireCommand();
    Command load = admin.AddCommand("load", "loads a model");
    load.Add("--backend", id, "where");
    return Said(line, words);
  };
  EXPECT_THAT(said({"--urk", "x"}), AllOf(HasSubstr("unknown flag '--urk'"), HasSubstr("'--url'")));
  EXPECT_THAT(said({"--urk=x"}), AllOf(HasSubstr("unknown flag '--urk'"), HasSubstr("'--url'")));
  EXPECT_THAT(said({"amdin"}), AllOf(HasSubstr("unexpected argument 'amdin'"), HasSubstr("'admin'")));
  EXPECT_THAT(said({"admin", "laod"}), AllOf(HasSubstr("unexpected argument 'laod'"), HasSubstr("'load'")));
  EXPECT_THAT(said({"admin", "load", "--bakcend", "x"}), AllOf(HasSubstr("'--bakcend'"), HasSubstr("'--backend'")));
  EXPECT_THAT(said({"--nothing-like-it"}), AllOf(HasSubstr("'--nothing-like-it'"), Not(HasSubstr("did you mean"))));
}

TEST(CommandLineTest, ASubcommandIsChosen) {
  std::string url, id;
  CommandLine line("program", "does things");
  line.Add("--url", url, "an address");
  Command admin = line.AddCommand("admin", "looks after models");
  admin.RequireCommand();
  admin.AddCommand("list", "lists");
  admin.AddCommand("load", "loads a model").Add("ID", id, "which").Required();
  EXPECT_EQ(Said(line, {"admin", "load", "llama", "--url", "here"}), "");  // the program's options may stand behind it
  EXPECT_EQ(line.chosen(), "admin");
  EXPECT_EQ(admin.chosen(), "load");
  EXPECT_EQ(id, "llama");
  EXPECT_EQ(url, "here");
  EXPECT_THAT(Said(line, {"admin"}), HasSubstr("subcommand"));
  EXPECT_EQ(Said(line, {}), "");
  EXPECT_EQ(line.chosen(), "");
}

TEST(CommandLineTest, AWordMayBeTheNameOfAnotherSubcommand) {
  CommandLine line("program", "does things");
  std::vector<std::string> words;
  line.AddCommand("say", "says").Add("WORD", words, "what");
  line.AddCommand("list", "lists");
  EXPECT_EQ(Said(line, {"say", "list", "it"}), "");
  EXPECT_EQ(line.chosen(), "say");
  EXPECT_THAT(words, ElementsAre("list", "it"));
}

TEST(CommandLineTest, AnOptionMayBeWrittenInOtherWays) {
  int64_t layers = 0;
  std::string rest;
  CommandLine line("program", "does things");
  line.Add("--gpu-layers", layers, "layers on the GPU");
  line.Add("REST", rest, "a word");
  line.AddSpelling("-ngl", "--gpu-layers");
  line.AddSpelling("--n-gpu-layers", "--gpu-layers");
  EXPECT_EQ(Said(line, {"-ngl", "20"}), "");
  EXPECT_EQ(layers, 20);
  EXPECT_EQ(Said(line, {"-ngl=21"}), "");
  EXPECT_EQ(layers, 21);
  EXPECT_EQ(Said(line, {"--n-gpu-layers", "22", "--", "-ngl"}), "");  // behind "--" it is a word like any other
  EXPECT_EQ(layers, 22);
  EXPECT_EQ(rest, "-ngl");
  EXPECT_THAT(Said(line, {"--help"}), HasSubstr("layers on the GPU; also -ngl; also --n-gpu-layers"));
}

TEST(CommandLineTest, HelpAndVersionEndTheProgram) {
  int threads = 3;
  CommandLine line("program", "does things", "1.2");
  line.Add("--threads", threads, "how many").Shown("N").ShowsDefault();
  line.SetFooter("at the end");
  line.AddCommand("list", "lists them");
  EXPECT_THAT(Said(line, {"--help"}), AllOf(HasSubstr("does things"), HasSubstr("--threads N"), HasSubstr("3"),
                                            HasSubstr("how many"), HasSubstr("lists them"), HasSubstr("at the end")));
  EXPECT_THAT(Said(line, {"list", "--help"}),
              AllOf(HasSubstr("lists them"), HasSubstr("Options of every command:\n  --threads N")));
  EXPECT_EQ(Said(line, {"--version"}), "program 1.2\n");
}

}  // namespace
}  // namespace inferflux
