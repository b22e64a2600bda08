#include "apps/inferctl/chat/line_editor.h"

#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>

namespace inferflux::apps {
namespace {

constexpr int kHistoryLines = 1000;
constexpr size_t kMaxPaste = size_t{8} << 20;

// Bracketed paste, as xterm's control sequences define it: the terminal marks what is pasted, so that its line ends do
// not send the message.
constexpr char kPasteOn[] = "\033[?2004h";
constexpr char kPasteOff[] = "\033[?2004l";
constexpr std::wstring_view kPasteEnd = L"\033[201~";

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

// The editor counts characters, not bytes, by the locale. Messages are UTF-8, whatever the user's locale is.
void UseUtf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

// Terminals send a carriage return for each line end of a paste.
std::wstring WithLineFeeds(const std::wstring& pasted) {
  std::wstring out;
  for (const wchar_t c : pasted) {
    if (c == L'\n' && !out.empty() && out.back() == L'\r') out.pop_back();
    out += c;
  }
  for (wchar_t& c : out) c = c == L'\r' ? L'\n' : c;
  return out;
}

unsigned char TakePaste(EditLine* editor, int /*key*/) {
  std::wstring pasted;
  wchar_t c = 0;
  while (!pasted.ends_with(kPasteEnd)) {
    if (pasted.size() > kMaxPaste || el_wgetc(editor, &c) != 1) return CC_REFRESH_BEEP;
    pasted += c;
  }
  pasted.resize(pasted.size() - kPasteEnd.size());
  el_winsertstr(editor, WithLineFeeds(pasted).c_str());
  return CC_REFRESH;
}

unsigned char Suspend(EditLine* /*editor*/, int /*key*/) {
  ::kill(0, SIGTSTP);  // the editor's own handler gives the terminal back first
  return CC_REFRESH;
}

}  // namespace

class LineEditor::Terminal {
 public:
  Terminal() : editor_(el_init("inferctl", stdin, stdout, stderr)), history_(history_init()), file_(HistoryFile()) {
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &Terminal::Prompt);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_SIGNAL, 1);
    el_set(editor_, EL_ADDFN, "take-paste", "Insert what is pasted", &TakePaste);
    el_set(editor_, EL_BIND, "\\e[200~", "take-paste", nullptr);
    // Ctrl-C is a key while a line is edited: it drops the line, and does not end the program. Then Ctrl-Z is one too.
    el_set(editor_, EL_SETTY, "-d", "-isig", nullptr);
    el_set(editor_, EL_ADDFN, "drop-line", "Drop the line", &Terminal::DropLine);
    el_set(editor_, EL_BIND, "^C", "drop-line", nullptr);
    el_set(editor_, EL_ADDFN, "suspend", "Suspend the program", &Suspend);
    el_set(editor_, EL_BIND, "^Z", "suspend", nullptr);
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistoryLines);
    if (!file_.empty()) history(history_, &event, H_LOAD, file_.c_str());
    el_set(editor_, EL_HIST, history, history_);
    el_source(editor_, nullptr);  // the user's ~/.editrc
  }
  ~Terminal() {
    HistEvent event;
    if (!file_.empty()) history(history_, &event, H_SAVE, file_.c_str());
    history_end(history_);
    el_end(editor_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::optional<InputLine> Read(const char* prompt) {
    prompt_ = prompt;
    interrupted_ = false;
    std::cout << kPasteOn << std::flush;
    int length = 0;
    errno = 0;
    const char* line = el_gets(editor_, &length);
    // A SIGINT that is no key of this terminal (`kill -INT`, or a Ctrl-C of just before) ends the read.
    if (line == nullptr && errno == EINTR) interrupted_ = true;
    std::cout << kPasteOff << std::flush;
    if (interrupted_) {
      std::cout << "^C" << std::endl;
      return InputLine{.text = {}, .interrupted = true};
    }
    if (line == nullptr || length <= 0) {
      std::cout << std::endl;
      return std::nullopt;
    }
    InputLine out{.text = std::string(line, static_cast<size_t>(length))};
    if (out.text.ends_with('\n')) out.text.pop_back();
    HistEvent event;
    if (!out.text.empty()) history(history_, &event, H_ENTER, out.text.c_str());
    return out;
  }

 private:
  static Terminal& Of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<Terminal*>(self);
  }
  static char* Prompt(EditLine* editor) { return Of(editor).prompt_.data(); }
  static unsigned char DropLine(EditLine* editor, int /*key*/) {
    Of(editor).interrupted_ = true;
    const LineInfoW* line = el_wline(editor);
    el_cursor(editor, static_cast<int>(line->lastchar - line->cursor));
    el_deletestr(editor, static_cast<int>(line->lastchar - line->buffer));
    return CC_NEWLINE;
  }

  EditLine* editor_;
  History* history_;
  std::string file_;  // empty: no place to save the history
  std::string prompt_;
  bool interrupted_ = false;
};

LineEditor::LineEditor() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return;
  UseUtf8();
  terminal_ = std::make_unique<Terminal>();
}

LineEditor::~LineEditor() = default;

std::optional<InputLine> LineEditor::Read(const char* prompt) {
  if (terminal_) return terminal_->Read(prompt);
  InputLine out;
  if (!std::getline(std::cin, out.text)) return std::nullopt;
  return out;
}

}  // namespace inferflux::apps
