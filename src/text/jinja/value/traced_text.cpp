#include "text/jinja/value/traced_text.h"

#include <algorithm>

namespace inferflux::text::jinja {

TracedText::TracedText(std::string bytes, bool trusted) : bytes_(std::move(bytes)) {
  if (!bytes_.empty()) runs_.push_back({bytes_.size(), trusted});
}

size_t TracedText::RunAt(size_t byte) const {
  const auto run =
      std::upper_bound(runs_.begin(), runs_.end(), byte, [](size_t at, const Run& r) { return at < r.end; });
  return static_cast<size_t>(run - runs_.begin());
}

bool TracedText::TrustedAt(size_t byte) const { return runs_[RunAt(byte)].trusted; }

void TracedText::Append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().trusted == trusted) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), trusted});
  }
}

void TracedText::Append(const TracedText& other) { AppendSlice(other, 0, other.size()); }

void TracedText::AppendSlice(const TracedText& other, size_t begin, size_t end) {
  for (size_t run = begin < end ? other.RunAt(begin) : 0; begin < end; ++run) {
    const size_t stop = std::min(end, other.runs_[run].end);
    Append(std::string_view(other.bytes_).substr(begin, stop - begin), other.runs_[run].trusted);
    begin = stop;
  }
}

TracedText TracedText::Slice(size_t begin, size_t end) const {
  TracedText out;
  out.AppendSlice(*this, begin, end);
  return out;
}

}  // namespace inferflux::text::jinja
