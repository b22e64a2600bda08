#include "net/router.h"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <optional>
#include <utility>

namespace inferflux::net {
namespace {

std::vector<std::string> Split(std::string_view path) {
  std::vector<std::string> out;
  if (path == "/") return out;  // as boost::urls splits a target
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const size_t end = std::min(path.find('/'), path.size());
    out.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return out;
}

enum class Kind { kLiteral, kOne, kRest };

// The kind of a pattern's segment, and the parameter's name if it is a parameter.
std::pair<Kind, std::string_view> Classify(std::string_view segment) {
  if (!segment.starts_with('{') || !segment.ends_with('}')) return {Kind::kLiteral, segment};
  std::string_view name = segment.substr(1, segment.size() - 2);
  if (!name.ends_with("...")) return {Kind::kOne, name};
  name.remove_suffix(3);
  return {Kind::kRest, name};
}

std::optional<std::map<std::string, std::string>> MatchSegments(const std::vector<std::string>& pattern,
                                                                const std::vector<std::string>& segments) {
  std::map<std::string, std::string> parameters;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (i >= segments.size()) return std::nullopt;
    const auto [kind, name] = Classify(pattern[i]);
    if (kind == Kind::kLiteral) {
      if (name != segments[i]) return std::nullopt;
      continue;
    }
    std::string value = segments[i];
    if (kind == Kind::kRest) {
      for (size_t j = i + 1; j < segments.size(); ++j) value += "/" + segments[j];
    }
    if (value.empty()) return std::nullopt;
    parameters.emplace(name, std::move(value));
    if (kind == Kind::kRest) return parameters;
  }
  if (segments.size() != pattern.size()) return std::nullopt;
  return parameters;
}

void AddMethod(std::string& allow, std::string_view method) {
  if (!allow.empty()) allow += ", ";
  allow += method;
}

}  // namespace

void Router::Add(std::string method, std::string_view pattern, Handler handler, HeadCheck check) {
  routes_.push_back({std::move(method), std::string(pattern), Split(pattern), std::move(handler), std::move(check)});
}

Router::Match Router::Find(std::string_view method, const std::vector<std::string>& segments) const {
  Match out;
  for (const Route& route : routes_) {
    auto parameters = MatchSegments(route.segments, segments);
    if (!parameters) continue;
    out.pattern = route.pattern;
    if (route.method == method || (method == "HEAD" && route.method == "GET")) {
      out.handler = &route.handler;
      out.check = &route.check;
      out.parameters = std::move(*parameters);
      out.allow.clear();
      return out;
    }
    AddMethod(out.allow, route.method);
    if (route.method == "GET") AddMethod(out.allow, "HEAD");
  }
  return out;
}

Result<Target> ParseTarget(std::string_view target) {
  // RFC 9112, section 3.2.2: a server accepts the absolute form too. Its host has the same meaning as the Host header.
  const bool absolute = target.starts_with("http://") || target.starts_with("https://");
  const auto url = absolute ? boost::urls::parse_absolute_uri(target) : boost::urls::parse_origin_form(target);
  if (!url)
    return Fail(ErrorCode::kInvalidArgument, "the request target is not a valid path: {}", url.error().message());
  if (absolute && url->host().empty()) return Fail(ErrorCode::kInvalidArgument, "the request target names no host");
  Target out;
  out.path = url->path().empty() ? "/" : url->path();
  for (const auto& segment : url->segments()) out.segments.push_back(segment);
  for (const auto& parameter : url->params()) out.query.emplace(parameter.key, parameter.value);
  return out;
}

}  // namespace inferflux::net
