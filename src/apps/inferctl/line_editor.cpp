#include "apps/inferctl/line_editor.h"

#include <editline/readline.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

namespace inferflux::apps {
namespace {

constexpr int kHistoryLines = 1000;

// $XDG_STATE_HOME/inferflux/history, by the XDG base directory specification.
std::string HistoryFile() {
  namespace fs = std::filesystem;
  fs::path folder;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    folder = state;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    folder = fs::path(home) / ".local" / "state";
  } else {
    return {};
  }
  folder /= "inferflux";
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? std::string() : (folder / "history").string();
}

}  // namespace

LineEditor::LineEditor() : terminal_(::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
  if (!terminal_) return;
  std::setlocale(LC_CTYPE, "");  // so that the editor counts characters, not bytes
  history_file_ = HistoryFile();
  using_history();
  stifle_history(kHistoryLines);
  if (!history_file_.empty()) read_history(history_file_.c_str());
}

LineEditor::~LineEditor() {
  if (terminal_ && !history_file_.empty()) write_history(history_file_.c_str());
}

std::optional<std::string> LineEditor::Read(const char* prompt) {
  if (!terminal_) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt), &std::free);
  if (!line) {
    std::cout << '\n';
    return std::nullopt;
  }
  if (*line != '\0') add_history(line.get());
  return std::string(line.get());
}

}  // namespace inferflux::apps
