// Text and tokens on their way to a client, and what becomes of hidden states.
#include "scheduler/output/output_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scheduler/fake_engine.h"
#include "scheduler/output/pooler.h"
#include "scheduler/output/token_stream.h"

namespace inferflux::scheduler {
namespace {

// Events as "text/ids", one for each push and the last one for the end.
std::string Events(const std::string& text, const std::vector<std::string>& stops) {
  OutputText output(FakeTokenizer(), stops, {});
  std::string out;
  const auto take = [&] {
    const StreamEvent event = output.Take();
    out += event.text + "/";
    for (const auto& token : event.tokens) out += static_cast<char>(token.chosen.id);
    out += " ";
  };
  for (const char byte : text) {
    output.Push({.token = static_cast<unsigned char>(byte)});
    take();
    if (output.stopped()) break;
  }
  output.Finish();
  take();
  return out;
}

TEST(OutputText, TokensComeWithTheirText) {
  EXPECT_EQ(Events("abc", {}), "a/a b/b c/c / ");
  EXPECT_EQ(Events("axy", {"xyz"}), "a/a / / xy/xy ") << "held back until it cannot be a stop string";
  EXPECT_EQ(Events("axb", {"xyz"}), "a/a / xb/xb / ");
  EXPECT_EQ(Events("axyz", {"xyz"}), "a/a / / / / ") << "nothing of a stop string";
  EXPECT_EQ(Events("axxyzq", {"xyz"}), "a/a / x/x / / / ");
}

TEST(OutputText, ATokenThatEndsInAStopStringCountsWithWhatIsBefore) {
  OutputText output(FakeTokenizer({"abST", "OPcd"}), {"STOP"}, {});
  output.Push({.token = 257, .chosen = {.id = 257, .logprob = -0.5f}, .top = {{.id = 97, .logprob = -0.25f}}});
  StreamEvent event = output.Take();
  EXPECT_EQ(event.text, "ab");
  EXPECT_TRUE(event.tokens.empty()) << "not all of its text has left";
  output.Push({.token = 258});
  EXPECT_TRUE(output.stopped());
  output.Finish();
  event = output.Take();
  EXPECT_EQ(event.text, "");
  ASSERT_EQ(event.tokens.size(), 1u);
  EXPECT_EQ(event.tokens[0].chosen.id, 257);
  EXPECT_EQ(event.tokens[0].chosen.bytes, "abST");
  EXPECT_EQ(event.tokens[0].chosen.logprob, -0.5f);
  ASSERT_EQ(event.tokens[0].top.size(), 1u);
  EXPECT_EQ(event.tokens[0].top[0].bytes, "a");
  EXPECT_EQ(event.tokens[0].top[0].logprob, -0.25f);
  EXPECT_EQ(output.stop_string(), "STOP");
}

TEST(TokenStream, WakesItsWriterWhenItHasRoomAgain) {
  TokenStream stream;
  int woken = 0, notified = 0;
  stream.SetWake([&] { ++woken; });
  stream.SetNotify([&] { ++notified; });
  for (size_t i = 0; i < 255; ++i) stream.Push({});
  EXPECT_FALSE(stream.full());
  stream.Push({});
  EXPECT_TRUE(stream.full());
  EXPECT_EQ(notified, 256);
  EXPECT_TRUE(stream.TryPop());
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(stream.TryPop());
  EXPECT_EQ(woken, 1) << "it had room";
  stream.SetNotify([&] { notified += 1000; });
  EXPECT_EQ(notified, 1256) << "at once: events wait";
  while (stream.TryPop()) continue;
  stream.SetNotify([&] { notified += 1000; });
  EXPECT_EQ(notified, 1256);
  stream.SetNotify({});
  stream.Push({});
  EXPECT_EQ(notified, 1256);
  EXPECT_FALSE(stream.cancelled());
  stream.Cancel();
  EXPECT_TRUE(stream.cancelled());
  EXPECT_EQ(woken, 2);
}

std::string Pooled(model::Pooling type, bool normalise) {
  Pooler pooler({.type = type}, 3);
  std::string out;
  const std::vector<std::vector<float>> states{{3, 0}, {0, 6}, {6, 6}};
  for (int round = 0; round < 2; ++round) {  // the second time from the beginning
    out.clear();
    pooler.Restart();
    for (int32_t i = 0; i < 3; ++i) {
      if (!pooler.Wants(i)) continue;
      out += fmt::format("{} ", i);
      pooler.Add(states[static_cast<size_t>(i)]);
    }
  }
  for (const float value : pooler.Take(normalise)) out += fmt::format("{:.3f} ", value);
  return out + (pooler.last_only() ? "last" : "");
}

TEST(Pooler, TakesTheStatesThatCount) {
  EXPECT_EQ(Pooled(model::Pooling::kMean, false), "0 1 2 3.000 4.000 ");
  EXPECT_EQ(Pooled(model::Pooling::kMean, true), "0 1 2 0.600 0.800 ");
  EXPECT_EQ(Pooled(model::Pooling::kCls, false), "0 3.000 0.000 ");
  EXPECT_EQ(Pooled(model::Pooling::kLast, false), "2 6.000 6.000 last");
  EXPECT_EQ(Pooled(model::Pooling::kLast, true), "2 0.707 0.707 last");
  Pooler zeros({.type = model::Pooling::kLast}, 1);
  zeros.Add(std::vector<float>{0, 0});
  EXPECT_EQ(zeros.Take(true), (std::vector<float>{0, 0}));
  std::vector<float> vector{3, 4}, none{0, 0};
  Normalise(vector);
  Normalise(none);
  EXPECT_EQ(vector, (std::vector<float>{0.6f, 0.8f}));
  EXPECT_EQ(none, (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace inferflux::scheduler
