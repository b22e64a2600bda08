// Lines from a person at a terminal, with editing and history; from a pipe, plainly.
#pragma once

#include <optional>
#include <string>

namespace inferflux::apps {

class LineEditor {
 public:
  // Reads and, at its end, writes the history of former sessions.
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line, without its end; nothing at the end of the input.
  std::optional<std::string> Read(const char* prompt);

 private:
  const bool terminal_;
  std::string history_file_;  // empty: there is no place for one
};

}  // namespace inferflux::apps
