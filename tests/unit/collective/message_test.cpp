// Messages between ranks: their bytes, what is broken, and what ranks agree on.
#include "collective/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collective/shared_memory/shared_memory_collective.h"
#include "collective/single_rank.h"

namespace inferflux::collective {
namespace {

constexpr const char* kBroken = "a message between ranks is broken: they are of different versions of InferFlux";

std::vector<std::byte> Bytes(const MessageWriter& writer) { return {writer.bytes().begin(), writer.bytes().end()}; }

MessageWriter Written() {
  MessageWriter out;
  out.Put(int64_t{-5});
  out.Put(std::string_view("text"));
  out.Put(std::vector<int32_t>{7, -8});
  out.Put(std::string_view(""));
  out.Put(std::vector<int32_t>{});
  out.Put(int64_t{std::numeric_limits<int32_t>::max()});
  out.Put(int64_t{std::numeric_limits<int32_t>::min()});
  return out;
}

// All that Written holds, as text.
std::string ReadAll(MessageReader& reader) {
  std::string out = std::to_string(reader.Number());
  out += " " + reader.Text();
  for (const int32_t number : reader.Numbers()) out += " " + std::to_string(number);
  out += " '" + reader.Text() + "'";
  out += " " + std::to_string(reader.Numbers().size());
  out += " " + std::to_string(reader.Int());
  out += " " + std::to_string(reader.Int());
  return out;
}

TEST(Message, IsReadAsItWasWritten) {
  const std::vector<std::byte> bytes = Bytes(Written());
  EXPECT_EQ(bytes.size(), 8u + 8 + 4 + 8 + 8 + 8 + 8 + 8 + 8);
  MessageReader reader(bytes);
  EXPECT_EQ(ReadAll(reader), "-5 text 7 -8 '' 0 2147483647 -2147483648");
  EXPECT_TRUE(reader.Done());
}

TEST(Message, ThatIsCutOrHasMoreIsBroken) {
  std::vector<std::byte> bytes = Bytes(Written());
  for (size_t size = 0; size < bytes.size(); ++size) {
    MessageReader reader({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    ReadAll(reader);
    const Status done = reader.Done();
    ASSERT_FALSE(done) << size;
    EXPECT_EQ(done.error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(done.error().message, kBroken);
    EXPECT_EQ(reader.Number(), 0) << "nothing comes after the end";
    EXPECT_EQ(reader.Text(), "");
  }
  bytes.push_back(std::byte{0});
  MessageReader reader(bytes);
  EXPECT_EQ(ReadAll(reader), "-5 text 7 -8 '' 0 2147483647 -2147483648");
  EXPECT_FALSE(reader.Done());
}

// A message of one number and four bytes more.
MessageReader Counted(int64_t count) {
  MessageWriter writer;
  writer.Put(count);
  std::vector<std::byte> bytes = Bytes(writer);
  bytes.resize(bytes.size() + 4, std::byte{'x'});
  return MessageReader(std::move(bytes));
}

TEST(Message, HasOnlyCountsThatFit) {
  for (const int64_t count : {int64_t{-1}, int64_t{5}, int64_t{1} << 62, std::numeric_limits<int64_t>::min()}) {
    MessageReader text = Counted(count), numbers = Counted(count);
    EXPECT_EQ(text.Text(), "") << count;
    EXPECT_FALSE(text.Done()) << count;
    EXPECT_TRUE(numbers.Numbers().empty()) << count;
    EXPECT_FALSE(numbers.Done()) << count;
  }
  MessageReader text = Counted(4), one = Counted(1), two = Counted(2);
  EXPECT_EQ(text.Text(), "xxxx");
  EXPECT_TRUE(text.Done());
  EXPECT_EQ(one.Numbers(), std::vector<int32_t>{0x78787878});
  EXPECT_TRUE(one.Done());
  EXPECT_TRUE(two.Numbers().empty());
  EXPECT_FALSE(two.Done());
}

TEST(Message, HasOnlyIntegersThatFit) {
  for (const int64_t number :
       {int64_t{std::numeric_limits<int32_t>::max()} + 1, int64_t{std::numeric_limits<int32_t>::min()} - 1}) {
    MessageWriter writer;
    writer.Put(number);
    MessageReader reader(Bytes(writer));
    EXPECT_EQ(reader.Int(), 0) << number;
    EXPECT_FALSE(reader.Done()) << number;
  }
}

// Runs one part for each of two ranks, on threads.
void RunTwo(const std::function<void(Collective&)>& part) {
  auto segment = Segment::Create(2, 1024);
  ASSERT_TRUE(segment);
  auto first = SharedMemoryCollective::Join(*segment, 0);
  auto second = SharedMemoryCollective::Join(*segment, 1);
  ASSERT_TRUE(first && second);
  std::thread other([&] { part(**second); });
  part(**first);
  other.join();
}

TEST(Message, OfAnySizeReachesTheOthers) {
  for (const size_t size : {0u, 1u, 2031u, 2032u, 2033u, 2034u, 9000u}) {
    std::string text(size, 'a');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
    for (const int32_t root : {0, 1}) {
      RunTwo([&](Collective& own) {
        if (own.rank() == root) {
          MessageWriter writer;
          writer.Put(text);
          EXPECT_TRUE(SendMessage(own, writer));
        } else {
          auto reader = ReceiveMessage(own, root);
          ASSERT_TRUE(reader) << reader.error().message;
          EXPECT_EQ(reader->Text(), text);
          EXPECT_TRUE(reader->Done());
        }
        EXPECT_TRUE(own.Barrier()) << "both did the same";
      });
    }
  }
}

TEST(Message, ThatIsTooLargeIsRefused) {
  RunTwo([](Collective& own) {
    if (own.rank() == 0) {
      const uint64_t size = (uint64_t{1} << 32) + 1;
      std::vector<std::byte> first(2048);
      std::memcpy(first.data(), &size, sizeof size);
      EXPECT_TRUE(own.Broadcast(first, 0));
    } else {
      const auto reader = ReceiveMessage(own, 0);
      ASSERT_FALSE(reader);
      EXPECT_EQ(reader.error().code, ErrorCode::kDataLoss);
      EXPECT_EQ(reader.error().message, "a message of 4294967297 bytes between ranks; there may be 4294967296");
    }
  });
}

TEST(Message, IsNotSentByARankThatHasGivenUp) {
  SingleRank alone;
  alone.Abort({ErrorCode::kCancelled, "enough"});
  EXPECT_EQ(SendMessage(alone, MessageWriter()).error().message, "enough");
  EXPECT_EQ(ReceiveMessage(alone, 0).error().message, "enough");
  EXPECT_EQ(Agree(alone, {}).error().message, "enough");
}

// What each of two ranks gets to know of these results.
std::vector<std::string> Agreed(const Status& first, const Status& second) {
  std::vector<std::string> out(2);
  RunTwo([&](Collective& own) {
    const Status all = Agree(own, own.rank() == 0 ? first : second);
    out[static_cast<size_t>(own.rank())] =
        all ? "all" : std::to_string(static_cast<int>(all.error().code)) + " " + all.error().message;
  });
  return out;
}

TEST(Agree, AllGetTheErrorOfTheFirstThatFailed) {
  const Status lost = Fail(ErrorCode::kNotFound, "no file"), full = Fail(ErrorCode::kResourceExhausted, "no memory");
  const std::string not_found = std::to_string(static_cast<int>(ErrorCode::kNotFound)) + " ";
  const std::string exhausted = std::to_string(static_cast<int>(ErrorCode::kResourceExhausted)) + " ";
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Agreed({}, {}), (Texts{"all", "all"}));
  EXPECT_EQ(Agreed(lost, {}), (Texts{not_found + "no file", not_found + "rank 0: no file"}));
  EXPECT_EQ(Agreed({}, full), (Texts{exhausted + "rank 1: no memory", exhausted + "no memory"}));
  EXPECT_EQ(Agreed(lost, full), (Texts{not_found + "no file", not_found + "rank 0: no file"}));
}

TEST(Agree, ALongErrorIsCutForTheOthers) {
  for (const size_t size : {501u, 502u, 503u, 2000u}) {
    const std::string text(size, 'e');
    const auto told = Agreed(Fail(ErrorCode::kInternal, "{}", text), {});
    const std::string code = std::to_string(static_cast<int>(ErrorCode::kInternal)) + " ";
    EXPECT_EQ(told[0], code + text);
    EXPECT_EQ(told[1], code + "rank 0: " + text.substr(0, 502)) << size;
  }
}

}  // namespace
}  // namespace inferflux::collective
