// What a draft model reads and draws, step by step.
#include <gtest/gtest.h>

#include "scheduler/fake_engine.h"
#include "scheduler/speculation/draft_model.h"

namespace inferflux::scheduler {
namespace {

struct Drafts {
  explicit Drafts(const FakeEngineOptions& options) {
    auto owned = std::make_unique<FakeEngine>(options, Babble);
    engine = owned.get();
    engine->on_step = [this](const engine::UnifiedBatch& batch) {
      for (const auto& item : batch.items) {
        trace += fmt::format("s{} {}+{}", item.sequence.slot, item.first_position, item.tokens.size());
        for (const auto& output : item.outputs) trace += fmt::format(" {}:{}", output.token_index, output.draw);
        trace += &item == &batch.items.back() ? "; " : " & ";
      }
    };
    model = std::make_unique<DraftModel>(std::move(owned), std::vector<TokenId>{kEnd}, clock);
  }
  static RequestPtr Make(uint64_t number, const std::string& text) {
    static const auto tokenizer = FakeTokenizer();
    auto request = std::make_unique<Request>(Request{.number = number,
                                                     .spec = {.prompt = Bytes(text)},
                                                     .stream = std::make_shared<TokenStream>(),
                                                     .output = OutputText(tokenizer, {}, {})});
    request->tokens = request->spec.prompt;
    request->generated = 3;
    return request;
  }
  // The number of drafted tokens of each task, and the steps.
  std::string Draft(std::vector<DraftTask> tasks) {
    trace.clear();
    model->Draft(tasks);
    std::string out;
    for (const DraftTask& task : tasks) out += fmt::format("{} ", task.draft.size());
    return out + "| " + trace;
  }

  std::function<TimePoint()> clock = [] { return TimePoint(); };
  FakeEngine* engine = nullptr;
  std::unique_ptr<DraftModel> model;
  std::string trace;
};

TEST(DraftSteps, FitTheDraftsContext) {
  Drafts drafts({.context = 10});
  const auto request = Drafts::Make(1, "abcdefgh");
  EXPECT_EQ(drafts.Draft({{.request = request.get(), .count = 4}}), "0 | ") << "it would read 11 tokens";
  EXPECT_EQ(drafts.Draft({{.request = request.get(), .count = 3}}), "3 | s0 0+7; s0 7+1 0:3; s0 8+1 0:4; s0 9+1 0:5; ");
  EXPECT_EQ(drafts.engine->usage().blocks_used, 3);
  drafts.model->Forget(*request);
  drafts.model->Forget(*request);
  EXPECT_EQ(drafts.engine->usage().blocks_used, 0);
}

TEST(DraftSteps, ReadOnFromWhatWasAccepted) {
  Drafts drafts({.blocks = 200, .context = 600});
  const auto request = Drafts::Make(1, "abcdefgh");
  EXPECT_EQ(drafts.Draft({{.request = request.get(), .count = 2}}), "2 | s0 0+7; s0 7+1 0:3; s0 8+1 0:4; ");
  request->tokens.push_back(Babble(request->tokens, {.draw = 3}));  // the first draft token was right
  request->tokens.push_back('!');
  EXPECT_EQ(drafts.Draft({{.request = request.get(), .count = 1}}), "1 | s0 9+1 0:3; ") << "only what is new";
  request->tokens.insert(request->tokens.end(), {'x', 'y'});
  EXPECT_EQ(drafts.Draft({{.request = request.get(), .count = 1}}), "1 | s0 10+2 1:3; ") << "two at once";
  request->tokens.insert(request->tokens.end(), {'x', 'y', 'z'});
  EXPECT_EQ(drafts.Draft({{.request = request.get(), .count = 1}}), "1 | s0 12+2; s0 14+1 0:3; ");
}

TEST(DraftSteps, ALongTextIsReadInPiecesOf256Tokens) {
  Drafts drafts({.blocks = 200, .context = 600});
  const auto request = Drafts::Make(1, std::string(257, 'a')), other = Drafts::Make(2, std::string(260, 'b'));
  EXPECT_EQ(drafts.Draft({{.request = request.get(), .count = 1}}), "1 | s0 0+256; s0 256+1 0:3; ");
  EXPECT_EQ(drafts.Draft({{.request = other.get(), .count = 1}}), "0 | s1 0+256; ") << "the rest comes with the next";
  EXPECT_EQ(drafts.Draft({{.request = other.get(), .count = 1}}), "1 | s1 256+3; s1 259+1 0:3; ");
}

TEST(DraftSteps, AreSharedByTheSequences) {
  Drafts drafts({.blocks = 200, .context = 600});
  const auto one = Drafts::Make(1, "ab"), two = Drafts::Make(2, "cd"), none = Drafts::Make(3, "ef");
  EXPECT_EQ(drafts.Draft({{.request = one.get(), .count = 1},
                          {.request = none.get(), .count = 0},
                          {.request = two.get(), .count = 2}}),
            "1 0 2 | s0 0+2 1:3 & s2 0+2 1:3; s2 2+1 0:4; ");
}

}  // namespace
}  // namespace inferflux::scheduler
