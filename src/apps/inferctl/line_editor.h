// Reads lines: from a terminal with editing and history, from a pipe without.
#pragma once

#include <optional>
#include <string>

namespace inferflux::apps {

class LineEditor {
 public:
  // Loads the history of former sessions; the destructor saves it.
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line, without its line end; nothing at the end of the input.
  std::optional<std::string> Read(const char* prompt);

 private:
  const bool terminal_;
  std::string history_file_;  // empty: no place to save it
};

}  // namespace inferflux::apps
