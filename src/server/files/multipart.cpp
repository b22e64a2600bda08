#include "server/files/multipart.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <utility>

#include "unicode/utf8.h"

namespace inferflux::server {
namespace {

using boost::beast::iequals;

constexpr size_t kMostBoundary = 70;  // RFC 2046
constexpr std::string_view kLineEnd = "\r\n";

std::string_view Trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes `; name=value` or `; name="value"` from the front of a header's parameters. None where they end or are no
// parameters.
std::optional<std::pair<std::string, std::string>> TakeParameter(std::string_view& rest) {
  rest = Trimmed(rest);
  if (!rest.starts_with(';')) return std::nullopt;
  rest.remove_prefix(1);
  const size_t equals = rest.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  std::pair<std::string, std::string> out;
  out.first = Trimmed(rest.substr(0, equals));
  rest = Trimmed(rest.substr(equals + 1));
  if (!rest.starts_with('"')) {
    const size_t end = std::min(rest.find(';'), rest.size());
    out.second = Trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
    return out;
  }
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
    out.second += rest.front();
    rest.remove_prefix(1);
  }
  if (rest.empty()) return std::nullopt;  // no closing quote
  rest.remove_prefix(1);
  return out;
}

tl::unexpected<ApiError> NotAForm(std::string_view why) {
  return RefuseAs("invalid_multipart", "", fmt::format("the body is not multipart/form-data: {}", why));
}

ApiResult<std::string> BoundaryOf(std::string_view content_type) {
  const size_t end = std::min(content_type.find(';'), content_type.size());
  if (!iequals(Trimmed(content_type.substr(0, end)), "multipart/form-data")) {
    return NotAForm(fmt::format("its Content-Type is '{}'; send the file as a form, as OpenAI's clients do",
                                content_type.substr(0, kMostBoundary)));
  }
  std::string_view rest = content_type.substr(end);
  while (auto parameter = TakeParameter(rest)) {
    if (!iequals(parameter->first, "boundary")) continue;
    if (parameter->second.empty() || parameter->second.size() > kMostBoundary) break;
    return std::move(parameter->second);
  }
  return NotAForm("its Content-Type has no boundary of 1 to 70 characters");
}

// Reads the headers of a part: only Content-Disposition matters.
ApiResult<FormPart> ReadPart(std::string_view headers, std::string_view content) {
  FormPart out{.name = {}, .filename = {}, .content = content};
  while (!headers.empty()) {
    const size_t end = std::min(headers.find(kLineEnd), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(headers.size(), end + kLineEnd.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !iequals(Trimmed(line.substr(0, colon)), "Content-Disposition")) continue;
    std::string_view rest = line.substr(colon + 1);
    rest.remove_prefix(std::min(rest.find(';'), rest.size()));
    while (auto parameter = TakeParameter(rest)) {
      if (iequals(parameter->first, "name")) out.name = std::move(parameter->second);
      if (iequals(parameter->first, "filename")) out.filename = std::move(parameter->second);
    }
  }
  if (out.name.empty()) return NotAForm("a part has no name");
  if (!unicode::IsValidUtf8(out.name)) return NotAForm("the name of a part is not UTF-8");
  return out;
}

}  // namespace

ApiResult<std::vector<FormPart>> ParseMultipart(std::string_view content_type, std::string_view body) {
  const auto boundary = BoundaryOf(content_type);
  if (!boundary) return Forward(boundary);
  const std::string opening = "--" + *boundary;
  const std::string delimiter = std::string(kLineEnd) + opening;
  if (body.starts_with(opening)) {
    body.remove_prefix(opening.size());
  } else {  // what is before the first delimiter is no part
    const size_t first = body.find(delimiter);
    if (first == std::string_view::npos) return NotAForm("it does not hold the boundary that its Content-Type names");
    body.remove_prefix(first + delimiter.size());
  }
  std::vector<FormPart> out;
  while (!body.starts_with("--")) {
    if (out.size() == kMostFormParts) return NotAForm(fmt::format("it has more than {} parts", kMostFormParts));
    const size_t line = body.find(kLineEnd);  // the delimiter's line may end with blanks
    if (line == std::string_view::npos || !Trimmed(body.substr(0, line)).empty()) {
      return NotAForm("a boundary is not followed by a line end");
    }
    body.remove_prefix(line);
    const size_t blank = body.substr(0, kMostPartHeaderBytes).find("\r\n\r\n");
    if (blank == std::string_view::npos) {
      return NotAForm(fmt::format("a part has no headers that end within {} bytes", kMostPartHeaderBytes));
    }
    const std::string_view headers = body.substr(0, blank).substr(std::min<size_t>(blank, kLineEnd.size()));
    body.remove_prefix(blank + kLineEnd.size());  // its second line end may begin the next delimiter
    const size_t end = body.find(delimiter);
    if (end == std::string_view::npos) return NotAForm("its last part does not end with the boundary");
    auto part = ReadPart(headers, end < kLineEnd.size() ? std::string_view() : body.substr(2, end - 2));
    if (!part) return Forward(part);
    out.push_back(std::move(*part));
    body.remove_prefix(end + delimiter.size());
  }
  return out;
}

}  // namespace inferflux::server
