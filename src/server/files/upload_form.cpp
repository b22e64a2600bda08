#include "server/files/upload_form.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "server/files/multipart.h"
#include "server/request/fields.h"
#include "unicode/utf8.h"

namespace inferflux::server {
namespace {

constexpr size_t kMostFilenameBytes = 255;
constexpr int64_t kLeastLifetime = 3600, kMostLifetime = 2'592'000;  // seconds, as in OpenAI's API

ApiStatus TakeFormField(const FormPart& part, UploadForm& out, std::string& anchor, std::string& seconds) {
  if (part.name == "purpose") {
    if (part.content != "batch") {
      return Refuse("purpose", "must be \"batch\": this server has no other use for a file");
    }
    out.purpose = part.content;
  } else if (part.name == "expires_after[anchor]") {
    anchor = part.content;
  } else if (part.name == "expires_after[seconds]") {
    seconds = part.content;
  } else {
    return RefuseUnknown(part.name, {"file", "purpose", "expires_after[anchor]", "expires_after[seconds]"});
  }
  return {};
}

ApiStatus TakeExpiry(const std::string& anchor, const std::string& seconds, UploadForm& out) {
  if (anchor.empty() && seconds.empty()) return {};
  if (anchor != "created_at") return Refuse("expires_after[anchor]", "must be \"created_at\"");
  int64_t number = 0;
  const char* end = seconds.data() + seconds.size();
  const auto [rest, error] = std::from_chars(seconds.data(), end, number);
  const auto lifetime = CheckLifetime("expires_after[seconds]", error == std::errc() && rest == end ? number : 0);
  if (!lifetime) return Forward(lifetime);
  out.lifetime = *lifetime;
  return {};
}

}  // namespace

ApiResult<std::chrono::seconds> CheckLifetime(std::string_view param, int64_t seconds) {
  if (seconds >= kLeastLifetime && seconds <= kMostLifetime) return std::chrono::seconds(seconds);
  return Refuse(param, "must be an integer from {} to {}", kLeastLifetime, kMostLifetime);
}

ApiResult<UploadForm> ParseUpload(std::string_view content_type, std::string_view body) {
  auto parts = ParseMultipart(content_type, body);
  if (!parts) return Forward(parts);
  UploadForm out;
  std::string anchor, seconds;
  bool file = false;
  for (FormPart& part : *parts) {
    if (part.name != "file") {
      if (ApiStatus taken = TakeFormField(part, out, anchor, seconds); !taken) return Forward(taken);
      continue;
    }
    if (file) return Refuse("file", "must come once");
    file = true;
    out.filename = part.filename ? std::move(*part.filename) : "file";
    if (out.filename.empty() || out.filename.size() > kMostFilenameBytes || !unicode::IsValidUtf8(out.filename)) {
      return Refuse("file", "must have a name of 1 to {} bytes of UTF-8", kMostFilenameBytes);
    }
    out.content = part.content;
  }
  if (!file) return RefuseAs("missing_required_parameter", "file", "'file' is missing");
  if (out.content.empty()) return Refuse("file", "must not be empty");
  if (out.purpose.empty()) return RefuseAs("missing_required_parameter", "purpose", "'purpose' is missing");
  if (ApiStatus taken = TakeExpiry(anchor, seconds, out); !taken) return Forward(taken);
  return out;
}

}  // namespace inferflux::server
