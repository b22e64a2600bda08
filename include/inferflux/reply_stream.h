// An answer as it grows.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "inferflux/error.h"
#include "inferflux/generation.h"

namespace inferflux::embedded {

class RunningCall;

// One thread at a time. A stream that is destroyed cancels its call. It keeps its model loaded.
class ReplyStream {
 public:
  // For the library itself: the call is opaque.
  explicit ReplyStream(std::unique_ptr<RunningCall> call);
  ReplyStream(ReplyStream&&) noexcept;
  ReplyStream& operator=(ReplyStream&&) noexcept;
  ~ReplyStream();

  // Waits for the next piece of text: whole characters, never a part of a stop string. Nothing at the answer's end. An
  // error ends the stream, and is returned by every later call too.
  Result<std::optional<std::string>> Next();

  // What came so far; its finish and usage are known after the end.
  const Reply& reply() const;

 private:
  std::unique_ptr<RunningCall> call_;
};

}  // namespace inferflux::embedded
