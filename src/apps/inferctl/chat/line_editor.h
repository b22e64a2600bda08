// Reads lines: from a terminal with editing, history and pastes of several lines; from a pipe without.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace inferflux::apps {

struct InputLine {
  std::string text;          // without its line end; a paste may have line ends inside
  bool interrupted = false;  // Ctrl-C: what was typed is dropped
};

class LineEditor {
 public:
  // Loads the history of former sessions; the destructor saves it.
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line; nothing at the end of the input.
  std::optional<InputLine> Read(const char* prompt);

 private:
  class Terminal;
  std::unique_ptr<Terminal> terminal_;  // null: not a terminal
};

}  // namespace inferflux::apps
