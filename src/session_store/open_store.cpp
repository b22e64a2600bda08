#include "session_store/open_store.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "session_store/directory_store.h"
#include "session_store/s3_store.h"
#include "session_store/sealed_store.h"

namespace inferflux::session_store {
namespace {

constexpr size_t kLeastKey = 32;
constexpr size_t kMostKey = 4096;

Result<std::string> ReadKey(const std::string& path) {
  if (path.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "runtime.session_store needs runtime.session_store_key_file: a file with the same {} or more random "
                "characters on each machine, such as `openssl rand -hex 32` prints",
                kLeastKey);
  }
  std::ifstream file(path, std::ios::binary);
  std::string key(kMostKey + 1, '\0');
  file.read(key.data(), static_cast<std::streamsize>(key.size()));
  key.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r' || key.back() == ' ')) key.pop_back();
  if (key.size() < kLeastKey || key.size() > kMostKey) {
    return Fail(ErrorCode::kInvalidArgument,
                "runtime.session_store_key_file {}: a key of {} to {} characters is needed, and {}", path, kLeastKey,
                kMostKey, key.empty() ? "the file cannot be read or is empty" : fmt::format("it has {}", key.size()));
  }
  return key;
}

// The first of these variables that is set.
std::string Variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

bool PlainName(std::string_view text, std::string_view also) {
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           also.find(c) != std::string_view::npos;
  });
}

Result<std::shared_ptr<scheduler::SessionStore>> OpenS3(std::string_view path) {
  S3Settings out;
  const size_t slash = std::min(path.find('/'), path.size());
  out.bucket = path.substr(0, slash);
  out.prefix = path.substr(std::min(slash + 1, path.size()));
  while (out.prefix.ends_with('/')) out.prefix.pop_back();
  if (out.bucket.empty() || !PlainName(out.bucket, ".-") || !PlainName(out.prefix, "._-/")) {
    return Fail(ErrorCode::kInvalidArgument,
                "runtime.session_store: 's3://{}' must be s3://BUCKET or s3://BUCKET/PREFIX, of letters, digits, '.', "
                "'_' and '-'",
                path);
  }
  if (!out.prefix.empty()) out.prefix += '/';
  out.region = Variable({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (out.region.empty()) out.region = "us-east-1";
  std::string endpoint = Variable({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.empty()) endpoint = fmt::format("https://s3.{}.amazonaws.com", out.region);
  auto address = net::ParseServerAddress(endpoint);
  if (!address) return Forward(address, "AWS_ENDPOINT_URL");
  out.endpoint = std::move(*address);
  out.credentials = {.key_id = Variable({"AWS_ACCESS_KEY_ID"}),
                     .secret = Variable({"AWS_SECRET_ACCESS_KEY"}),
                     .token = Variable({"AWS_SESSION_TOKEN"})};
  if (out.credentials.key_id.empty() || out.credentials.secret.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "runtime.session_store: s3:// needs the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  return std::make_shared<S3Store>(std::move(out));
}

}  // namespace

Result<std::shared_ptr<scheduler::SessionStore>> OpenStore(const std::string& url, const std::string& key_file) {
  if (url.empty()) return nullptr;
  auto key = ReadKey(key_file);
  if (!key) return Forward(key);
  std::string_view rest = url;
  std::shared_ptr<scheduler::SessionStore> inner;
  if (rest.starts_with("s3://")) {
    auto opened = OpenS3(rest.substr(5));
    if (!opened) return opened;
    inner = std::move(*opened);
  } else {
    if (rest.starts_with("file://")) rest.remove_prefix(7);
    if (!rest.starts_with('/')) {
      return Fail(ErrorCode::kInvalidArgument,
                  "runtime.session_store: '{}' is not /FOLDER, file:///FOLDER or s3://BUCKET", url);
    }
    auto opened = DirectoryStore::Open(rest);
    if (!opened) return Forward(opened);
    inner = std::move(*opened);
  }
  return std::make_shared<SealedStore>(std::move(inner), std::move(*key));
}

}  // namespace inferflux::session_store
