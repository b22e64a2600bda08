// Messages of any size from one rank to all: numbers and texts, written and read in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collective/collective.h"

namespace inferflux::collective {

class MessageWriter {
 public:
  void Put(int64_t number);
  void Put(std::string_view text);
  void Put(std::span<const int32_t> numbers);
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void Append(const void* data, size_t size);
  std::vector<std::byte> bytes_;
};

// After the first read beyond the end every read returns nothing, and Done is kDataLoss.
class MessageReader {
 public:
  explicit MessageReader(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  int64_t Number();
  int32_t Int();  // a number that fits; otherwise the message is broken
  std::string Text();
  std::vector<int32_t> Numbers();
  Status Done() const;  // kDataLoss if something is missing or left

 private:
  bool Take(void* out, size_t size);
  // A count of elements of `size` bytes, all of which follow.
  size_t Count(size_t size);

  std::vector<std::byte> bytes_;
  size_t next_ = 0;
  bool broken_ = false;
};

// The rank `root` sends a message, the others receive it.
Status SendMessage(Collective& ranks, const MessageWriter& message);
Result<MessageReader> ReceiveMessage(Collective& ranks, int32_t root);

// Whether all ranks succeeded with something: the error of the first one that did not, for all of them, with its
// number.
Status Agree(Collective& ranks, const Status& own);

}  // namespace inferflux::collective
