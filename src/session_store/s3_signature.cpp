#include "session_store/s3_signature.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>

#include "session_store/digest.h"

namespace inferflux::session_store {
namespace {

Digest Mac(std::string_view key, std::string_view data) {
  return HmacSha256(key, std::array<std::string_view, 1>{data});
}

}  // namespace

std::vector<net::Header> SignS3(const S3Request& request, const S3Credentials& credentials, std::string_view region,
                                std::chrono::sys_seconds now) {
  const std::tm utc = fmt::gmtime(std::chrono::system_clock::to_time_t(now));
  const std::string day = fmt::format("{:%Y%m%d}", utc);
  const std::string time = fmt::format("{:%Y%m%dT%H%M%SZ}", utc);
  const std::string content = Hex(Sha256(request.body));

  // Both lists in the order of the names.
  std::string headers = fmt::format("host:{}\nx-amz-content-sha256:{}\nx-amz-date:{}\n", request.host, content, time);
  std::string names = "host;x-amz-content-sha256;x-amz-date";
  if (!credentials.token.empty()) {
    headers += fmt::format("x-amz-security-token:{}\n", credentials.token);
    names += ";x-amz-security-token";
  }
  const std::string canonical =
      fmt::format("{}\n{}\n\n{}\n{}\n{}", request.method, request.path, headers, names, content);
  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, region);
  const std::string to_sign = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, Hex(Sha256(canonical)));

  Digest key = Mac("AWS4" + credentials.secret, day);
  for (const std::string_view part : {region, std::string_view("s3"), std::string_view("aws4_request")}) {
    key = Mac(BytesOf(key), part);
  }
  std::vector<net::Header> out{
      {"x-amz-date", time},
      {"x-amz-content-sha256", content},
      {"authorization", fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                                    credentials.key_id, scope, names, Hex(Mac(BytesOf(key), to_sign)))}};
  if (!credentials.token.empty()) out.push_back({"x-amz-security-token", credentials.token});
  return out;
}

}  // namespace inferflux::session_store
