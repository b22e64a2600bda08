#include "dspy/python/python_text.h"

#include <algorithm>
#include <limits>

namespace inferflux::dspy {
namespace {

size_t LeadingSpace(std::string_view line) { return line.size() - StripLeft(line).size(); }

size_t CountChars(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += CharAt(text, at).size) ++count;
  return count;
}

std::string_view DropChars(std::string_view text, size_t count) {
  size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at += CharAt(text, at).size;
  return text.substr(at);
}

std::string ExpandTabs(std::string_view text) {
  std::string out;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const PythonChar c = CharAt(text, at);
    if (c.code == '\t') {
      const size_t spaces = 8 - column % 8;
      out.append(spaces, ' ');
      column += spaces;
    } else {
      out.append(text.substr(at, c.size));
      column = c.code == '\n' || c.code == '\r' ? 0 : column + 1;
    }
    at += c.size;
  }
  return out;
}

std::vector<std::string_view> SplitAtNewlines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

template <class Lines>
std::string JoinLines(const Lines& lines) {
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    out += lines[i];
  }
  return out;
}

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
char ToUpper(char c) { return IsLower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
char ToLower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name): matches do not overlap.
std::string CutBeforeWords(std::string_view name) {
  std::string out;
  for (size_t at = 0; at < name.size();) {
    const size_t head = CharAt(name, at).size;
    out += name.substr(at, head);
    at += head;
    if (at + 1 >= name.size() || !IsUpper(name[at]) || !IsLower(name[at + 1])) continue;
    out += '_';
    do out += name[at++];
    while (at < name.size() && IsLower(name[at]));
  }
  return out;
}

// re.sub("(first)(second)", r"\1_\2", name) for classes of one character each, whose matches do not overlap.
template <class First, class Second>
std::string CutBetween(std::string_view name, First first, Second second) {
  std::string out;
  for (size_t at = 0; at < name.size();) {
    out += name[at];
    if (at + 1 < name.size() && first(name[at]) && second(name[at + 1])) {
      out += '_';
      out += name[at + 1];
      ++at;
    }
    ++at;
  }
  return out;
}

// Upper and lower case are ASCII's here; other letters stay as they are.
std::string TitleWord(std::string_view word) {
  const bool acronym = std::ranges::any_of(word, IsUpper) && std::ranges::none_of(word, IsLower);
  std::string out(word);
  if (acronym) return out;
  std::ranges::transform(out, out.begin(), ToLower);
  if (!out.empty()) out[0] = ToUpper(out[0]);
  return out;
}

}  // namespace

PythonChar CharAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1};
  const size_t size = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
  if (size == 1 || first >= 0xF5 || at + size > text.size()) return {0xFFFD, 1};
  char32_t code = first & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {0xFFFD, 1};
    code = (code << 6) | (byte(at + i) & 0x3F);
  }
  return {code, size};
}

bool EndsWithWholeChar(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(text.size(), 3); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    return size <= back;
  }
  return true;
}

void AppendChar(char32_t code, std::string& out) {
  const auto put = [&](char32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

bool IsPythonSpace(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
         code == 0x205F || code == 0x3000;
}

bool IsLineEnd(char32_t code) {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

std::string_view StripLeft(std::string_view text) {
  while (!text.empty()) {
    const PythonChar c = CharAt(text, 0);
    if (!IsPythonSpace(c.code)) break;
    text.remove_prefix(c.size);
  }
  return text;
}

std::string_view Strip(std::string_view text) {
  text = StripLeft(text);
  while (!text.empty()) {
    size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    const PythonChar c = CharAt(text, at);
    if (at + c.size != text.size() || !IsPythonSpace(c.code)) break;
    text.remove_suffix(c.size);
  }
  return text;
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const PythonChar c = CharAt(text, at);
    if (!IsLineEnd(c.code)) {
      at += c.size;
      continue;
    }
    lines.push_back(text.substr(begin, at - begin));
    at += c.code == '\r' && text.substr(at + 1).starts_with('\n') ? 2 : c.size;
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::string CleanDoc(std::string_view text) {
  const std::string expanded = ExpandTabs(text);
  std::vector<std::string_view> lines = SplitAtNewlines(expanded);
  size_t margin = std::numeric_limits<size_t>::max();
  for (size_t i = 1; i < lines.size(); ++i) {
    if (StripLeft(lines[i]).empty()) continue;
    margin = std::min(margin, CountChars(lines[i].substr(0, LeadingSpace(lines[i]))));
  }
  lines[0] = StripLeft(lines[0]);
  if (margin != std::numeric_limits<size_t>::max()) {
    for (size_t i = 1; i < lines.size(); ++i) lines[i] = DropChars(lines[i], margin);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  while (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
  return JoinLines(lines);
}

std::string Dedent(std::string_view text) {
  std::vector<std::string_view> lines = SplitAtNewlines(text);
  const std::string_view* margin = nullptr;
  std::string_view shared;
  for (std::string_view& line : lines) {
    const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
    if (indent == line.size()) {
      line = line.substr(indent);
      continue;
    }
    const std::string_view space = line.substr(0, indent);
    if (!margin) shared = space;
    margin = &shared;
    shared = shared.substr(0, std::ranges::mismatch(shared, space).in1 - shared.begin());
  }
  for (std::string_view& line : lines) {
    if (!line.empty()) line.remove_prefix(shared.size());
  }
  return JoinLines(lines);
}

std::string InferPrefix(std::string_view name) {
  std::string cut = CutBeforeWords(name);
  cut = CutBetween(
      cut, [](char c) { return IsLower(c) || IsDigit(c); }, IsUpper);
  cut = CutBetween(cut, IsLetter, IsDigit);
  cut = CutBetween(cut, IsDigit, IsLetter);
  std::string out;
  for (size_t begin = 0;; ++begin) {
    const size_t end = std::min(cut.find('_', begin), cut.size());
    if (begin > 0) out += ' ';
    out += TitleWord(std::string_view(cut).substr(begin, end - begin));
    if (end == cut.size()) return out;
    begin = end;
  }
}

}  // namespace inferflux::dspy
