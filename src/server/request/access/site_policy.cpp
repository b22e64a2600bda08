#include "server/request/access/site_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>

namespace inferflux::server {
namespace {

constexpr size_t kMaxHeaderEcho = 1024;
constexpr char kMethods[] = "GET, POST, PUT, PATCH, DELETE";

// Host names and origins are case-insensitive.
std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view word = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) out.push_back(Lower(word));
  }
  return out;
}

// "name:port", "[::1]:port" -> the name without port and brackets.
std::string NameOf(std::string_view host) {
  if (host.starts_with('[')) return Lower(host.substr(1, host.find(']') - 1));
  const size_t colon = host.rfind(':');
  return Lower(host.substr(0, colon));
}

bool IsAddress(const std::string& name) {
  boost::system::error_code failed;
  boost::asio::ip::make_address(name, failed);
  return !failed;
}

bool IsLoopbackName(std::string_view name) { return name == "localhost" || name.ends_with(".localhost"); }

bool Contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::any_of(list, [&](const std::string& each) { return each == "*" || each == word; });
}

bool IsOrigin(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return false;
  const std::string_view rest = text.substr(scheme + 3);
  return !rest.empty() && rest.find_first_of("/?#@ ") == std::string_view::npos;
}

bool IsHostName(std::string_view text) { return text.find_first_of("/:@ ") == std::string_view::npos; }

ApiError Forbidden(std::string message, const char* code) {
  return ApiError{403, std::move(message), "invalid_request_error", "", code};
}

}  // namespace

Result<SitePolicy> SitePolicy::Parse(std::string_view hosts, std::string_view origins) {
  SitePolicy out;
  out.hosts_ = Split(hosts);
  out.origins_ = Split(origins);
  for (const std::string& host : out.hosts_) {
    if (host != "*" && !IsHostName(host)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "server.allowed_hosts: '{}' is not a host name; write it without scheme, port and path", host);
    }
  }
  for (const std::string& origin : out.origins_) {
    if (origin != "*" && !IsOrigin(origin)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "server.allowed_origins: '{}' is not an origin; write scheme, host and port alone, such as "
                  "https://chat.example.com or http://localhost:3000",
                  origin);
    }
  }
  return out;
}

bool SitePolicy::AllowsHost(std::string_view name) const { return Contains(hosts_, name); }

bool SitePolicy::AllowsOrigin(std::string_view origin) const { return Contains(origins_, Lower(origin)); }

ApiStatus SitePolicy::CheckHost(const net::Request& request, bool keys_required) const {
  if (keys_required && hosts_.empty()) return {};
  const std::string_view host = net::FindHeader(request.headers, "Host");
  if (host.empty()) return {};  // HTTP/1.0, which no browser speaks
  const std::string name = NameOf(host);
  if (IsAddress(name) || IsLoopbackName(name) || AllowsHost(name)) return {};
  return tl::make_unexpected(
      Forbidden(fmt::format("this server is not called '{}'; if it is, list the name in server.allowed_hosts", name),
                "forbidden_host"));
}

// A page of another site can make its own name resolve to this server, but not one of the names of loopback. Where keys
// are required, the key decides.
bool SitePolicy::IsForeign(const net::Request& request, bool keys_required) const {
  const std::string_view origin = net::FindHeader(request.headers, "Origin");
  if (origin.empty() || AllowsOrigin(origin)) return false;
  const std::string_view host = net::FindHeader(request.headers, "Host");
  if (host.empty()) return true;
  if (origin != fmt::format("http://{}", host) && origin != fmt::format("https://{}", host)) return true;
  if (keys_required) return false;
  const std::string name = NameOf(host);
  return !IsAddress(name) && !IsLoopbackName(name) && !AllowsHost(name);
}

ApiStatus SitePolicy::CheckOrigin(const net::Request& request, bool keys_required) const {
  if (!IsForeign(request, keys_required)) return {};
  return tl::make_unexpected(
      Forbidden(fmt::format("calls are not taken from the web pages of {}; list a site that may in "
                            "server.allowed_origins",
                            net::FindHeader(request.headers, "Origin")),
                "forbidden_origin"));
}

std::vector<net::Header> SitePolicy::AnswerHeaders(const net::Request& request) const {
  if (origins_.empty()) return {};
  const std::string_view origin = net::FindHeader(request.headers, "Origin");
  if (origin.empty() || !AllowsOrigin(origin)) return {{"Vary", "Origin"}};
  return {{"Vary", "Origin"},
          {"Access-Control-Allow-Origin", std::string(origin)},
          {"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"}};
}

ApiResult<net::Response> SitePolicy::Preflight(const net::Request& request) const {
  const std::string_view origin = net::FindHeader(request.headers, "Origin");
  if (origin.empty()) return net::Response(204, "", "");
  if (!AllowsOrigin(origin)) {
    return tl::make_unexpected(Forbidden(
        fmt::format("pages of '{}' may not use this server; server.allowed_origins lists the sites that may", origin),
        "forbidden_origin"));
  }
  net::Response out(204, "", "");
  out.headers.push_back({"Access-Control-Allow-Methods", kMethods});
  const std::string_view wanted = net::FindHeader(request.headers, "Access-Control-Request-Headers");
  if (!wanted.empty() && wanted.size() <= kMaxHeaderEcho) {
    out.headers.push_back({"Access-Control-Allow-Headers", std::string(wanted)});
  }
  out.headers.push_back({"Access-Control-Max-Age", "600"});
  return out;
}

}  // namespace inferflux::server
