#include "net/sse.h"

#include <algorithm>
#include <utility>

namespace inferflux::net {

void AppendSseData(std::string& out, std::string_view data) {
  out += "data: ";
  out += data;
  out += "\n\n";
}

Status SseParser::Feed(std::string_view bytes, FunctionRef<void(const Event&)> on_event) {
  for (const char byte : bytes) {
    const bool joined = std::exchange(after_cr_, byte == '\r') && byte == '\n';
    if (joined) continue;
    if (byte == '\n' || byte == '\r') {
      TakeLine(on_event);
      continue;
    }
    if (line_.size() + event_.data.size() >= kMaxEventBytes) {
      return Fail(ErrorCode::kDataLoss, "the server sent an event of more than {} bytes", kMaxEventBytes);
    }
    line_ += byte;
  }
  return {};
}

void SseParser::TakeLine(FunctionRef<void(const Event&)> on_event) {
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {  // the end of an event
    if (has_data_) on_event(event_);
    event_ = {};
    has_data_ = false;
    return;
  }
  const size_t colon = static_cast<size_t>(std::find(line.begin(), line.end(), ':') - line.begin());
  const std::string_view field = std::string_view(line).substr(0, colon);
  std::string_view value = std::string_view(line).substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    event_.name = value;
  }
}

}  // namespace inferflux::net
