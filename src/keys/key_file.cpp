#include "keys/key_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace inferflux::keys {
namespace {

constexpr std::string_view kPrefix = "ifx_";  // so that scanners for leaked secrets can find a key
constexpr size_t kMinHashDigits = 8;

std::string FolderOf(const std::string& path) {
  const std::string out = std::filesystem::path(path).parent_path();
  return out.empty() ? "." : out;
}

struct Line {
  std::string text;
  std::optional<KeyLine> key;
};

Result<std::vector<Line>> ReadLines(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, "cannot read the API keys file {}", path);
  std::vector<Line> out;
  std::string text;
  while (std::getline(file, text)) {
    auto key = ParseKeyLine(text);
    if (!key) return Forward(key, fmt::format("{}:{}", path, out.size() + 1));
    out.push_back({std::move(text), std::move(*key)});
  }
  return out;
}

// One change at a time: two programs that add a key must not lose one of them. It locks the file's folder, because the
// file itself is replaced.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : path_(FolderOf(path)), file_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    int failed = file_ < 0 ? -1 : ::flock(file_, LOCK_EX);
    while (failed != 0 && file_ >= 0 && errno == EINTR) failed = ::flock(file_, LOCK_EX);
    if (failed != 0) reason_ = errno;
  }
  ~Lock() {
    if (file_ >= 0) ::close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  Status taken() const {
    if (reason_ == 0) return {};
    return Fail(ErrorCode::kIo, "cannot lock the folder {}: {}", path_, std::strerror(reason_));
  }

 private:
  const std::string path_;
  const int file_;
  int reason_ = 0;  // why it is not locked
};

// The new file belongs to the owner of the old one, and is as open: the server must still be able to read it.
bool FillFile(int file, const std::string& text, const struct stat* old) {
  if (old != nullptr && ::fchown(file, old->st_uid, old->st_gid) != 0) return false;
  if (::fchmod(file, old != nullptr ? old->st_mode & 0777 : 0600) != 0) return false;
  errno = ENOSPC;  // of a short write
  return ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
}

Status WriteLines(const std::string& given, const std::vector<Line>& lines) {
  std::error_code ignored;
  const std::string resolved = std::filesystem::weakly_canonical(given, ignored);  // a link stays one
  const std::string& path = ignored ? given : resolved;
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  const std::string partial = path + ".partial";
  const int file = ::open(partial.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return Fail(ErrorCode::kIo, "cannot write {}: {}", partial, std::strerror(errno));
  std::string text;
  for (const Line& line : lines) text += line.text + "\n";
  const bool filled = FillFile(file, text, exists ? &old : nullptr);
  const int reason = errno;
  ::close(file);
  if (filled && std::rename(partial.c_str(), path.c_str()) == 0) return {};
  const int why = filled ? errno : reason;
  ::unlink(partial.c_str());
  return Fail(ErrorCode::kIo, "cannot write {}: {}", path, std::strerror(why));
}

}  // namespace

Result<std::vector<KeyLine>> ReadKeyFile(const std::string& path) {
  auto lines = ReadLines(path);
  if (!lines) return Forward(lines);
  std::vector<KeyLine> out;
  for (Line& line : *lines) {
    if (line.key) out.push_back(std::move(*line.key));
  }
  return out;
}

Result<std::string> CreateKey(const std::string& path, const std::string& name, Scopes scopes,
                              std::optional<Time> expires, const Limits& limits) {
  if (!IsKeyName(name)) {
    return Fail(ErrorCode::kInvalidArgument, "'{}' is not a valid key name: use letters, digits and ._-", name);
  }
  const Lock lock(path);
  if (Status taken = lock.taken(); !taken) return Forward(taken);
  std::vector<Line> lines;
  if (::access(path.c_str(), F_OK) == 0) {
    auto read = ReadLines(path);
    if (!read) return Forward(read);
    lines = std::move(*read);
  }
  const bool named = std::ranges::any_of(lines, [&](const Line& line) { return line.key && line.key->name == name; });
  if (named) return Fail(ErrorCode::kInvalidArgument, "{} has a key named '{}' already; revoke it first", path, name);
  Hash random;
  if (::RAND_bytes(random.data(), random.size()) != 1) return Fail(ErrorCode::kInternal, "cannot get random bytes");
  std::string secret = std::string(kPrefix) + ToHex(random);
  lines.push_back({FormatKeyLine({HashOf(secret), scopes, name, expires, limits}), std::nullopt});
  if (Status written = WriteLines(path, lines); !written) return Forward(written);
  return secret;
}

Result<int> RevokeKey(const std::string& path, std::string_view which) {
  const Lock lock(path);
  if (Status taken = lock.taken(); !taken) return Forward(taken);
  auto lines = ReadLines(path);
  if (!lines) return Forward(lines);
  const auto gone = std::erase_if(*lines, [&](const Line& line) {
    if (!line.key) return false;
    return line.key->name == which || (which.size() >= kMinHashDigits && ToHex(line.key->hash).starts_with(which));
  });
  if (gone == 0) return Fail(ErrorCode::kNotFound, "{} has no key '{}'; inferctl keys list shows them", path, which);
  if (Status written = WriteLines(path, *lines); !written) return Forward(written);
  return static_cast<int>(gone);
}

}  // namespace inferflux::keys
