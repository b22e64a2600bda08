#include "scheduler/sessions/session_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <span>
#include <system_error>
#include <utility>

#include "base/mix64.h"

namespace inferflux::scheduler {
namespace fs = std::filesystem;
namespace {

template <class T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

bool ReadExactly(std::ifstream& file, std::span<std::byte> out) {
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  return file.good() && file.gcount() == static_cast<std::streamsize>(out.size());
}

// Zero, or the error of the system.
int WriteAll(const fs::path& path, std::initializer_list<std::span<const std::byte>> parts) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  int error = 0;
  for (std::span<const std::byte> part : parts) {
    while (error == 0 && !part.empty()) {
      const ssize_t written = ::write(file, part.data(), part.size());
      if (written > 0) part = part.subspan(static_cast<size_t>(written));
      if (written == 0) error = ENOSPC;
      if (written < 0 && errno != EINTR) error = errno;
    }
  }
  if (error == 0 && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

// The rename is on the disk too, once the folder is.
void SyncFolder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace

std::string SessionFileName(const SessionKey& key) {
  uint64_t hash = key.owner;
  for (const char c : key.id) hash = Mix64(hash + static_cast<unsigned char>(c) + 1);
  return fmt::format("{:016x}.session", hash);
}

uint64_t SessionFileBytes(const SessionHead& head, size_t kv_bytes) {
  return SessionHeader::Of(head, kv_bytes).total_bytes();
}

Status WriteSessionFile(const fs::path& path, const SessionHead& head, const std::vector<std::byte>& kv) {
  const SessionHeader header = SessionHeader::Of(head, kv.size());
  const auto id = std::as_bytes(std::span(head.key.id));
  const auto ids = std::as_bytes(std::span(head.tokens));
  const uint64_t sum =
      SessionChecksum(kv, SessionChecksum(ids, SessionChecksum(id, SessionChecksum(BytesOf(header), 0))));
  const fs::path partial = path.string() + ".partial";
  int error = WriteAll(partial, {BytesOf(header), id, ids, kv, BytesOf(sum)});
  if (error == 0 && std::rename(partial.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) {
    SyncFolder(path.parent_path());
    return {};
  }
  std::error_code ignored;
  fs::remove(partial, ignored);
  return Fail(ErrorCode::kIo, "cannot write the session file {}: {}", path.string(), std::strerror(error));
}

std::optional<SessionHead> ReadSessionHead(const fs::path& path, uint64_t fingerprint) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  SessionHeader header;
  if (error || size < sizeof header || !ReadExactly(file, std::as_writable_bytes(std::span(&header, 1)))) return {};
  if (!header.FitsIn(size) || header.fingerprint != fingerprint) return {};
  SessionHead out{.fingerprint = fingerprint,
                  .key = {.owner = header.owner, .id = std::string(header.id_bytes, '\0')},
                  .tokens = std::vector<TokenId>(header.tokens),
                  .expires = WallTime(std::chrono::seconds(header.expires)),
                  .ttl = std::chrono::seconds(header.ttl)};
  if (!ReadExactly(file, std::as_writable_bytes(std::span(out.key.id))) ||
      !ReadExactly(file, std::as_writable_bytes(std::span(out.tokens))) ||
      path.filename() != SessionFileName(out.key)) {
    return {};
  }
  return out;
}

Result<std::vector<std::byte>> ReadSessionKv(const fs::path& path, const SessionHead& head) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  SessionHeader header;
  bool good = !error && size >= sizeof header && ReadExactly(file, std::as_writable_bytes(std::span(&header, 1))) &&
              header.FitsIn(size) && header.fingerprint == head.fingerprint && header.id_bytes == head.key.id.size() &&
              header.tokens == head.tokens.size();
  std::vector<std::byte> kv;
  if (good) {
    std::vector<std::byte> id(header.id_bytes);
    std::vector<std::byte> ids(header.tokens * sizeof(TokenId));
    kv.resize(header.kv_bytes);
    uint64_t sum = 0;
    good = ReadExactly(file, id) && ReadExactly(file, ids) && ReadExactly(file, kv) &&
           ReadExactly(file, std::as_writable_bytes(std::span(&sum, 1))) &&
           file.peek() == std::ifstream::traits_type::eof() &&
           sum == SessionChecksum(kv, SessionChecksum(ids, SessionChecksum(id, SessionChecksum(BytesOf(header), 0)))) &&
           std::ranges::equal(ids, std::as_bytes(std::span(head.tokens)));
  }
  if (!good) return Fail(ErrorCode::kDataLoss, "the session file {} is damaged", path.string());
  return kv;
}

}  // namespace inferflux::scheduler
