// Programs that Python's dspy compiled, saved and ran: the same states, the same prompts, the same predictions.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/golden.h"
#include "dspy/optimize/bootstrap_few_shot.h"
#include "dspy/optimize/labeled_few_shot.h"
#include "dspy/programs/predict.h"
#include "dspy/programs/react.h"
#include "dspy/python/python_format.h"
#include "dspy/python/python_random.h"
#include "dspy/scripted_lm.h"

namespace inferflux::dspy {
namespace {

using testing::ScriptedLm;
using testing::TextOf;

// As tools/dspy_golden.py has it.
class Pipeline : public Module {
 public:
  Pipeline() = default;

  Result<Prediction> Forward(const Values& inputs, const RunContext& context) const override {
    auto query = search_.Forward(inputs, context);
    if (!query) return query;
    Values both = inputs;
    both["query"] = query->values().at("query");
    auto answer = answer_.Forward(both, context);
    if (answer) answer->usage() += query->usage();
    return answer;
  }
  std::vector<NamedPredictor> Predictors() override {
    return PredictorsOf({{"search", &search_}, {"answer", &answer_}});
  }
  std::unique_ptr<Module> Clone() const override { return std::make_unique<Pipeline>(*this); }

 private:
  Predict search_{*Signature::Parse("question -> query")};
  ChainOfThought answer_{*Signature::Parse("question, query -> answer: int")};
};

std::vector<Tool> GoldenTools(const boost::json::object& file) {
  std::vector<Tool> tools;
  for (const auto& spec : file.at("tools").as_array()) {
    tools.push_back(
        {.name = TextOf(spec.at("name")), .desc = TextOf(spec.at("desc")), .args = spec.at("args").as_object()});
  }
  tools[0].function = [](const Values& args) -> Result<boost::json::value> {
    return boost::json::value(args.at("a").as_int64() + args.at("b").as_int64());
  };
  tools[1].function = [](const Values& args) -> Result<boost::json::value> {
    std::string languages;
    for (const auto& one : args.at("languages").as_array()) languages += (languages.empty() ? "" : ", ") + TextOf(one);
    return boost::json::value(TextOf(args.at("word")) + " in " + languages);
  };
  return tools;
}

std::unique_ptr<Module> MakeProgram(const boost::json::object& file, const std::string& kind) {
  const Signature signature = *Signature::Parse("question -> answer: int");
  if (kind == "predict") return std::make_unique<Predict>(signature);
  if (kind == "chain_of_thought") return std::make_unique<ChainOfThought>(signature);
  if (kind == "pipeline") return std::make_unique<Pipeline>();
  auto react = ReAct::Create(signature, GoldenTools(file));
  EXPECT_TRUE(react) << react.error().message;
  return std::make_unique<ReAct>(std::move(*react));
}

boost::json::object WithoutMetadata(boost::json::object state) {
  if (state.contains("metadata")) state.stable_erase(state.find("metadata"));
  return state;
}

std::vector<Example> Trainset(const boost::json::object& entry) {
  std::vector<Example> examples;
  for (const Example& example : testing::ReadExamples(entry.at("trainset"))) {
    examples.push_back(example.WithInputs({"question"}));
  }
  return examples;
}

void ExpectSameRuns(const Module& program, const boost::json::object& entry) {
  for (const auto& run : entry.at("runs").as_array()) {
    auto lm = std::make_shared<ScriptedLm>();
    for (const auto& call : run.at("calls").as_array()) lm->Say(TextOf(call.at("reply")));
    RunContext context{.lm = lm};
    context.adapter = std::make_shared<ChatAdapter>();
    if (run.at("adapter") == "json") context.adapter = std::make_shared<JSONAdapter>();
    const auto prediction = program.Call(run.at("inputs").as_object(), context);
    ASSERT_TRUE(prediction) << prediction.error().message;
    EXPECT_EQ(JsonDumps(prediction->values()), JsonDumps(run.at("prediction")));
    ASSERT_EQ(lm->requests().size(), run.at("calls").as_array().size());
    for (size_t i = 0; i < lm->requests().size(); ++i) {
      testing::ExpectSameMessages(lm->requests()[i].messages,
                                  testing::ReadMessages(run.at("calls").at(i).at("messages")),
                                  TextOf(entry.at("program")) + ", call " + std::to_string(i));
    }
  }
}

TEST(DspyProgramsGoldenTest, StatesLoadAndGiveTheSamePrompts) {
  const auto file = testing::ReadGolden("programs.json");
  for (const auto& item : file.at("cases").as_array()) {
    const boost::json::object& entry = item.as_object();
    auto program = MakeProgram(file, TextOf(entry.at("program")));
    const auto loaded = program->LoadState(entry.at("state").as_object());
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(JsonDumps(program->DumpState()), JsonDumps(WithoutMetadata(entry.at("state").as_object())));
    ExpectSameRuns(*program, entry);
  }
}

TEST(DspyProgramsGoldenTest, OptimisersMakeTheSameStates) {
  const auto file = testing::ReadGolden("programs.json");
  size_t compared = 0;
  for (const auto& item : file.at("cases").as_array()) {
    const boost::json::object& entry = item.as_object();
    const auto student = MakeProgram(file, TextOf(entry.at("program")));
    std::unique_ptr<Module> compiled;
    if (entry.at("optimizer") == "labeled") {
      const LabeledFewShot optimizer{.k = static_cast<size_t>(entry.at("k").as_int64()),
                                     .sample = entry.at("sample").as_bool()};
      compiled = optimizer.Compile(*student, Trainset(entry));
    } else if (entry.at("optimizer") == "bootstrap") {
      auto lm = std::make_shared<ScriptedLm>();
      for (const auto& reply : entry.at("replies").as_array()) lm->Say(TextOf(reply));
      const BootstrapFewShot optimizer{.metric = SameField("answer"),
                                       .max_bootstrapped = static_cast<size_t>(entry.at("max_bootstrapped").as_int64()),
                                       .max_labeled = static_cast<size_t>(entry.at("max_labeled").as_int64()),
                                       .teacher_context = {.lm = lm, .adapter = std::make_shared<ChatAdapter>()}};
      auto result = optimizer.Compile(*student, Trainset(entry));
      ASSERT_TRUE(result) << result.error().message;
      compiled = std::move(*result);
      ASSERT_EQ(lm->requests().size(), entry.at("prompts").as_array().size());
      for (size_t i = 0; i < lm->requests().size(); ++i) {
        testing::ExpectSameMessages(lm->requests()[i].messages, testing::ReadMessages(entry.at("prompts").at(i)),
                                    "bootstrap, call " + std::to_string(i));
      }
    } else {
      continue;
    }
    EXPECT_EQ(JsonDumps(compiled->DumpState()), JsonDumps(WithoutMetadata(entry.at("state").as_object())));
    EXPECT_TRUE(student->DumpState() == MakeProgram(file, TextOf(entry.at("program")))->DumpState());
    ++compared;
  }
  EXPECT_EQ(compared, 9u);
}

TEST(DspyProgramsGoldenTest, ProgramsSurviveFiles) {
  const auto file = testing::ReadGolden("programs.json");
  const auto path = std::filesystem::temp_directory_path() / ("dspy_state_" + std::to_string(::getpid()) + ".json");
  for (const auto& item : file.at("cases").as_array()) {
    const std::string kind = TextOf(item.at("program"));
    auto program = MakeProgram(file, kind);
    ASSERT_TRUE(program->LoadState(item.at("state").as_object()));
    ASSERT_TRUE(program->Save(path));
    auto again = MakeProgram(file, kind);
    const auto loaded = again->Load(path);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(JsonDumps(again->DumpState()), JsonDumps(program->DumpState()));
  }
  std::filesystem::remove(path);
}

TEST(DspyProgramsGoldenTest, NumbersAreThoseOfPythonsRandom) {
  const auto file = testing::ReadGolden("random.json");
  for (const auto& entry : file.at("cases").as_array()) {
    PythonRandom random(static_cast<uint64_t>(entry.at("seed").as_int64()));
    const auto count = static_cast<size_t>(entry.at("count").as_int64());
    boost::json::array sample;
    for (const size_t one : random.Sample(count, entry.at("sample").as_array().size())) sample.push_back(int64_t(one));
    EXPECT_EQ(JsonDumps(sample), JsonDumps(entry.at("sample")));
    std::vector<int64_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = static_cast<int64_t>(i);
    random.Shuffle(order);
    boost::json::array shuffled;
    for (size_t i = 0; i < std::min<size_t>(count, 50); ++i) shuffled.push_back(order[i]);
    EXPECT_EQ(JsonDumps(shuffled), JsonDumps(entry.at("shuffled")));
    EXPECT_EQ(random.Next(), entry.at("next").as_double());
  }
}

// random.Random(seed)._randbelow(limit) of CPython, one after the other.
TEST(PythonRandomTest, NumbersBelowALimitHaveUpTo64Bits) {
  const uint64_t limits[] = {5, 1ULL << 31, 4294967295, 1ULL << 32, 4294967297, 8589934599, 1ULL << 63, ~0ULL, 1};
  const std::pair<uint64_t, std::vector<uint64_t>> rows[] = {
      {1ULL,
       {1ULL, 271041745ULL, 1095513148ULL, 506456969ULL, 3268308804ULL, 901749037ULL, 522918558215449730ULL,
        15417145005318368486ULL, 0ULL}},
      {20261126ULL,
       {3ULL, 1910666152ULL, 136073811ULL, 4181713966ULL, 3675561543ULL, 6985723412ULL, 7528652137860306345ULL,
        4545112171395597098ULL, 0ULL}},
      {1099511627776ULL,
       {0ULL, 1517081360ULL, 2880015531ULL, 282029048ULL, 208659080ULL, 2407100149ULL, 5897663683784874162ULL,
        13871222845468969404ULL, 0ULL}},
  };
  for (const auto& [seed, numbers] : rows) {
    PythonRandom random(seed);
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(random.Below(limits[i]), numbers[i]) << seed << ", " << limits[i];
  }
}

}  // namespace
}  // namespace inferflux::dspy
