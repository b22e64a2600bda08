#include "apps/inferflux_bench/json_lines.h"

#include <fmt/format.h>
#include <zlib.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <memory>
#include <string_view>

namespace inferflux::apps {
namespace json = boost::json;
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;

void Append(const json::value& value, std::string& out) {
  const auto comma = [&, first = true]() mutable {
    if (!first) out += ", ";
    first = false;
  };
  if (const auto* array = value.if_array()) {
    auto next = comma;
    out += '[';
    for (const auto& item : *array) next(), Append(item, out);
    out += ']';
  } else if (const auto* object = value.if_object()) {
    auto next = comma;
    out += '{';
    for (const auto& [name, item] : *object) {
      next();
      out += json::serialize(json::value(name)) + ": ";
      Append(item, out);
    }
    out += '}';
  } else if (value.is_double()) {
    const std::string text = fmt::format("{}", value.get_double());
    out += text;
    if (text.find_first_not_of("-0123456789") == text.npos) out += ".0";
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

Result<std::vector<std::string>> ReadLines(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return Fail(ErrorCode::kNotFound, "no file {}", path);
  std::string text;
  std::vector<char> buffer(size_t{1} << 16);
  int read = 0;
  while ((read = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer.data(), static_cast<size_t>(read));
    if (text.size() > kMaxBytes) return Fail(ErrorCode::kDataLoss, "{} has more than {} bytes", path, kMaxBytes);
  }
  if (read < 0) return Fail(ErrorCode::kDataLoss, "{} cannot be read: it is damaged", path);
  std::vector<std::string> lines;
  for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

std::string PythonJson(const json::value& value) {
  std::string out;
  Append(value, out);
  return out;
}

}  // namespace inferflux::apps
