// Python's methods of text that DSPy's prompts are made with. White space and line ends are Unicode's, as in str.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferflux::dspy {

// One character of UTF-8 at `at`, and how many bytes it has. An invalid byte counts as one character, U+FFFD.
struct PythonChar {
  char32_t code = 0;
  size_t size = 1;
};
PythonChar CharAt(std::string_view text, size_t at);
// Whether no character is cut at the end. Bytes that are no UTF-8 count as whole.
bool EndsWithWholeChar(std::string_view text);
void AppendChar(char32_t code, std::string& out);

bool IsPythonSpace(char32_t code);
bool IsLineEnd(char32_t code);  // where str.splitlines cuts

std::string_view StripLeft(std::string_view text);
std::string_view Strip(std::string_view text);
// Without the line ends. A last line that is empty is none, as in Python.
std::vector<std::string_view> SplitLines(std::string_view text);

// inspect.cleandoc of Python 3.11: tabs become spaces, the margin that all lines but the first share goes, and so do
// empty lines at both ends.
std::string CleanDoc(std::string_view text);
// textwrap.dedent: the margin that all lines share goes, and lines of white space become empty.
std::string Dedent(std::string_view text);

// "camelCaseText2" becomes "Camel Case Text 2" (dspy's infer_prefix).
std::string InferPrefix(std::string_view name);

}  // namespace inferflux::dspy
