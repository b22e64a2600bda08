#include "keys/jwt/key_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "keys/jwt/jose_object.h"

namespace inferflux::keys {
namespace json = boost::json;
namespace {

// Without waiting for a writer, where the path is a FIFO.
Result<std::string> ReadKeySetFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Fail(ErrorCode::kNotFound, "cannot read {}: {}", path, std::strerror(errno));
  struct stat info {};
  std::string out;
  Status read;
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    read = Fail(ErrorCode::kInvalidArgument, "{} is not a file", path);
  } else if (info.st_size > static_cast<off_t>(KeySet::kMaxBytes)) {
    read = Fail(ErrorCode::kInvalidArgument, "{} is larger than {} bytes", path, KeySet::kMaxBytes);
  } else {
    out.resize(KeySet::kMaxBytes);
    size_t size = 0;
    ssize_t got = 0;
    while (size < out.size() && (got = ::read(file, out.data() + size, out.size() - size)) > 0) {
      size += static_cast<size_t>(got);
    }
    if (got < 0) read = Fail(ErrorCode::kNotFound, "cannot read {}: {}", path, std::strerror(errno));
    out.resize(size);
  }
  ::close(file);
  if (!read) return Forward(read);
  return out;
}

}  // namespace

Result<KeySet> KeySet::Parse(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the key set is larger than {} bytes", kMaxBytes);
  }
  auto object = ParseJoseObject(text, "the key set");
  if (!object) return Forward(object);
  const json::value* list = object->if_contains("keys");
  if (list == nullptr || !list->is_array()) {
    return Fail(ErrorCode::kInvalidArgument, "the key set has no list 'keys'");
  }
  if (list->get_array().size() > kMaxKeys) {
    return Fail(ErrorCode::kInvalidArgument, "the key set has {} keys; at most {} are accepted",
                list->get_array().size(), kMaxKeys);
  }
  KeySet out;
  size_t index = 0;
  for (const json::value& each : list->get_array()) {
    const std::string where = fmt::format("keys[{}]", index++);
    if (!each.is_object()) return Fail(ErrorCode::kInvalidArgument, "{} is not an object", where);
    auto key = PublicKey::Parse(each.get_object());
    if (!key && key.error().code == ErrorCode::kUnsupported) {
      out.left_out_.push_back(fmt::format("{} is not used: {}", where, key.error().message));
      continue;
    }
    if (!key) return Forward(key, where);
    const bool twice = std::ranges::any_of(out.keys_, [&](const PublicKey& other) {
      return !key->id().empty() && other.id() == key->id() && other.algorithm() == key->algorithm();
    });
    if (twice) return Fail(ErrorCode::kInvalidArgument, "{} has the kid and the algorithm of a key before it", where);
    out.keys_.push_back(std::move(*key));
  }
  if (out.keys_.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the key set has no key for RS256, ES256 or EdDSA signatures{}{}",
                out.left_out_.empty() ? "" : ": ", out.left_out_.empty() ? "" : out.left_out_.front());
  }
  return out;
}

Result<KeySet> KeySet::Read(const std::string& path) {
  auto text = ReadKeySetFile(path);
  if (!text) return Forward(text);
  auto out = Parse(*text);
  if (!out) return Forward(out, path);
  return out;
}

const PublicKey* KeySet::Find(Algorithm algorithm, std::optional<std::string_view> id) const {
  const PublicKey* found = nullptr;
  for (const PublicKey& key : keys_) {
    if (key.algorithm() != algorithm || (id && key.id() != *id)) continue;
    if (found != nullptr) return nullptr;  // without an id, or with an empty one, there is no choice between two
    found = &key;
  }
  return found;
}

}  // namespace inferflux::keys
