// Server-sent events, both ways (WHATWG HTML, "Server-sent events", section 9.2).
#pragma once

#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/result.h"

namespace inferflux::net {

// Appends "data: ...\n\n". `data` must not contain a line break; one line of JSON never does.
void AppendSseData(std::string& out, std::string_view data);

// Reads a stream of events, split into pieces in any way. Ignores comments and the fields id and retry.
class SseParser {
 public:
  struct Event {
    std::string name;  // empty if the event has no "event:" line
    std::string data;
  };
  // An event or a line above this size is an error: the server does not speak the expected protocol.
  static constexpr size_t kMaxEventBytes = 16u << 20;

  // Calls `on_event` for each event that `bytes` completes.
  Status Feed(std::string_view bytes, FunctionRef<void(const Event&)> on_event);

 private:
  void TakeLine(FunctionRef<void(const Event&)> on_event);

  std::string line_;
  Event event_;
  bool has_data_ = false;
  bool after_cr_ = false;  // the last byte was CR: a following LF belongs to the same line end
};

}  // namespace inferflux::net
