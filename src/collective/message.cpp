#include "collective/message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace inferflux::collective {
namespace {

// A step of a few sequences fits into the first turn, with its size.
constexpr size_t kFirst = 2048 - sizeof(uint64_t);
constexpr uint64_t kMost = uint64_t{1} << 32;

struct First {
  uint64_t size = 0;
  std::array<std::byte, kFirst> bytes{};
};

}  // namespace

void MessageWriter::Append(const void* data, size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
}

void MessageWriter::Put(int64_t number) { Append(&number, sizeof(number)); }

void MessageWriter::Put(std::string_view text) {
  Put(static_cast<int64_t>(text.size()));
  Append(text.data(), text.size());
}

void MessageWriter::Put(std::span<const int32_t> numbers) {
  Put(static_cast<int64_t>(numbers.size()));
  Append(numbers.data(), numbers.size_bytes());
}

bool MessageReader::Take(void* out, size_t size) {
  broken_ = broken_ || bytes_.size() - next_ < size;
  if (broken_ || size == 0) return !broken_;
  std::memcpy(out, bytes_.data() + next_, size);
  next_ += size;
  return true;
}

int64_t MessageReader::Number() {
  int64_t out = 0;
  return Take(&out, sizeof(out)) ? out : 0;
}

int32_t MessageReader::Int() {
  const int64_t number = Number();
  if (number == static_cast<int32_t>(number)) return static_cast<int32_t>(number);
  broken_ = true;
  return 0;
}

size_t MessageReader::Count(size_t size) {
  const int64_t count = Number();
  if (count >= 0 && static_cast<uint64_t>(count) <= (bytes_.size() - next_) / size) return static_cast<size_t>(count);
  broken_ = true;
  return 0;
}

std::string MessageReader::Text() {
  std::string out(Count(1), '\0');
  return Take(out.data(), out.size()) ? out : std::string();
}

std::vector<int32_t> MessageReader::Numbers() {
  std::vector<int32_t> out(Count(sizeof(int32_t)));
  return Take(out.data(), out.size() * sizeof(int32_t)) ? out : std::vector<int32_t>();
}

Status MessageReader::Done() const {
  if (!broken_ && next_ == bytes_.size()) return {};
  return Fail(ErrorCode::kDataLoss, "a message between ranks is broken: they are of different versions of InferFlux");
}

Status SendMessage(Collective& ranks, const MessageWriter& message) {
  const auto bytes = message.bytes();
  First first{.size = bytes.size()};
  std::copy_n(bytes.begin(), std::min(bytes.size(), kFirst), first.bytes.begin());
  if (auto sent = ranks.Broadcast(std::as_writable_bytes(std::span(&first, 1)), ranks.rank()); !sent) return sent;
  if (bytes.size() <= kFirst) return {};
  std::vector<std::byte> rest(bytes.begin() + kFirst, bytes.end());
  return ranks.Broadcast(rest, ranks.rank());
}

Result<MessageReader> ReceiveMessage(Collective& ranks, int32_t root) {
  First first;
  if (auto got = ranks.Broadcast(std::as_writable_bytes(std::span(&first, 1)), root); !got) return Forward(got);
  if (first.size > kMost) {
    return Fail(ErrorCode::kDataLoss, "a message of {} bytes between ranks; there may be {}", first.size, kMost);
  }
  std::vector<std::byte> bytes(first.bytes.begin(),
                               first.bytes.begin() + static_cast<std::ptrdiff_t>(std::min(first.size, kFirst)));
  if (first.size > kFirst) {
    bytes.resize(first.size);
    if (auto got = ranks.Broadcast(std::span(bytes).subspan(kFirst), root); !got) return Forward(got);
  }
  return MessageReader(std::move(bytes));
}

Status Agree(Collective& ranks, const Status& own) {
  struct Record {
    bool failed = false;
    ErrorCode code{};
    char text[503] = {};
  };
  Record record{.failed = !own.has_value()};
  if (!own) {
    record.code = own.error().code;
    std::copy_n(own.error().message.begin(), std::min(own.error().message.size(), sizeof(record.text) - 1),
                record.text);
  }
  std::vector<Record> all(static_cast<size_t>(ranks.size()));
  if (auto done = ranks.AllGather(std::as_bytes(std::span(&record, 1)), std::as_writable_bytes(std::span(all)));
      !done) {
    return done;
  }
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].failed) continue;
    if (static_cast<int32_t>(rank) == ranks.rank()) return own;
    all[rank].text[sizeof(record.text) - 1] = '\0';
    return Fail(all[rank].code, "rank {}: {}", rank, static_cast<const char*>(all[rank].text));
  }
  return {};
}

}  // namespace inferflux::collective
