// UTF-8 text that records for each byte range whether it came from the template or from the request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferflux::text::jinja {

class TracedText {
 public:
  // Bytes from the end of the previous run up to `end`, all of one origin. Neighbouring runs differ in `trusted`.
  struct Run {
    size_t end;
    bool trusted;
  };

  TracedText() = default;
  TracedText(std::string bytes, bool trusted);

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::vector<Run>& runs() const { return runs_; }

  bool TrustedAt(size_t byte) const;
  // True if no byte came from the request; an empty text is trusted.
  bool AllTrusted() const { return runs_.empty() || (runs_.size() == 1 && runs_[0].trusted); }

  void Append(std::string_view bytes, bool trusted);
  void Append(const TracedText& other);
  // Appends bytes [begin, end) of `other` with their origins. `other` must not be this object.
  void AppendSlice(const TracedText& other, size_t begin, size_t end);
  TracedText Slice(size_t begin, size_t end) const;

 private:
  size_t RunAt(size_t byte) const;

  std::string bytes_;
  std::vector<Run> runs_;
};

}  // namespace inferflux::text::jinja
