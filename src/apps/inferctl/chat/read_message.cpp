#include "apps/inferctl/chat/read_message.h"

#include <string_view>
#include <utility>

namespace inferflux::apps {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";
constexpr char kPrompt[] = "> ";
constexpr char kMore[] = "... ";

// Where the quotes begin that open a message of several lines; npos if none do.
size_t OpeningQuotes(const std::string& line) {
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos) return first;
  if (line.compare(first, kQuotes.size(), kQuotes) == 0) return first;
  if (line[first] != '/') return std::string::npos;
  const size_t quotes = line.find(kQuotes, first);
  return quotes != std::string::npos && line[quotes - 1] == ' ' ? quotes : std::string::npos;
}

// Without the line ends beside the quotes.
std::string_view Trimmed(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<std::string> ReadMessage(ReadLine read) {
  auto line = read(kPrompt);
  if (!line) return std::nullopt;
  const size_t open = OpeningQuotes(line->text);
  if (open == std::string::npos) return std::move(line->text);
  const std::string before =
      line->text.substr(line->text.find_first_not_of(' '), open - line->text.find_first_not_of(' '));
  std::string inside = line->text.substr(open + kQuotes.size());
  for (size_t close = inside.find(kQuotes);; close = inside.find(kQuotes)) {
    if (close != std::string::npos) return before + std::string(Trimmed(std::string_view(inside).substr(0, close)));
    const auto more = read(kMore);
    if (!more) return before + std::string(Trimmed(inside));  // the end of the input closes them too
    if (more->interrupted) return std::string();
    inside += "\n" + more->text;
  }
}

}  // namespace inferflux::apps
