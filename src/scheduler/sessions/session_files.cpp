#include "scheduler/sessions/session_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/mix64.h"

namespace inferflux::scheduler {
namespace fs = std::filesystem;
namespace {

constexpr std::array<char, 8> kMagic{'I', 'F', 'X', 'S', 'E', 'S', 'S', '1'};
constexpr uint32_t kMaxIdBytes = 1024;
constexpr uint64_t kMaxTokens = uint64_t{1} << 28;

// The header of a file, in this machine's byte order, like the KV. The id, the tokens and the KV follow, then a
// checksum of everything.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint64_t fingerprint = 0;
  uint64_t owner = 0;
  int64_t expires = 0;  // seconds since 1970
  int64_t ttl = 0;
  uint64_t tokens = 0;
  uint64_t kv_bytes = 0;
  uint64_t id_bytes = 0;

  uint64_t file_bytes() const {
    return sizeof(Header) + id_bytes + tokens * sizeof(TokenId) + kv_bytes + sizeof(uint64_t);
  }
};

// Each step is a bijection of the previous state and of the word, so a change of any one word always changes the
// result.
uint64_t Checksum(std::span<const std::byte> bytes, uint64_t sum) {
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t size = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), size);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
    bytes = bytes.subspan(size);
  }
  return Mix64(sum);
}

template <class T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

bool ReadExactly(std::ifstream& file, std::span<std::byte> out) {
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  return file.good() && file.gcount() == static_cast<std::streamsize>(out.size());
}

bool Plausible(const Header& header, uint64_t size) {
  return header.magic == kMagic && header.id_bytes <= kMaxIdBytes && header.tokens <= kMaxTokens &&
         header.kv_bytes <= size && header.file_bytes() == size;
}

std::string NameOf(const SessionKey& key) {
  uint64_t hash = key.owner;
  for (const char c : key.id) hash = Mix64(hash + static_cast<unsigned char>(c) + 1);
  return fmt::format("{:016x}.session", hash);
}

bool WriteAll(const fs::path& path, std::initializer_list<std::span<const std::byte>> parts) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool good = true;
  for (std::span<const std::byte> part : parts) {
    while (good && !part.empty()) {
      const ssize_t written = ::write(file, part.data(), part.size());
      good = written > 0;
      if (good) part = part.subspan(static_cast<size_t>(written));
    }
  }
  good = good && ::fsync(file) == 0;
  return ::close(file) == 0 && good;
}

}  // namespace

uint64_t OwnerOf(uint64_t salt) { return Mix64(Mix64(salt + 0x9e3779b97f4a7c15u)); }

Result<SessionFiles> SessionFiles::Open(const std::string& directory, int64_t limit, uint64_t fingerprint,
                                        WallTime now) {
  SessionFiles out(fs::path(directory) / fmt::format("{:016x}", fingerprint), limit, fingerprint);
  std::error_code error;
  fs::create_directories(out.directory_, error);
  if (error) {
    return Fail(ErrorCode::kIo, "cannot create the session directory {}: {}", out.directory_.string(), error.message());
  }
  fs::permissions(out.directory_, fs::perms::owner_all, error);
  out.Scan(now);
  return out;
}

void SessionFiles::Scan(WallTime now) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;  // the oldest first
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".session") found.emplace_back(entry.last_write_time(error), entry.path());
    if (extension == ".partial") fs::remove(entry.path(), error);  // an interrupted write
  }
  std::ranges::sort(found);
  for (const auto& [time, path] : found) {
    if (!Adopt(path, now)) fs::remove(path, error);
  }
  MakeRoom(0);
}

// False if the file is damaged or expired. The KV is checked when it is read.
bool SessionFiles::Adopt(const fs::path& path, WallTime now) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  Header header;
  if (error || size < sizeof header || !ReadExactly(file, std::as_writable_bytes(std::span(&header, 1)))) return false;
  if (!Plausible(header, size) || header.fingerprint != fingerprint_) return false;
  SessionFile out{.path = path,
                  .tokens = std::vector<TokenId>(header.tokens),
                  .bytes = static_cast<int64_t>(size),
                  .expires = WallTime(std::chrono::seconds(header.expires)),
                  .ttl = std::chrono::seconds(header.ttl),
                  .written = next_++};
  SessionKey key{.owner = header.owner, .id = std::string(header.id_bytes, '\0')};
  if (out.expires <= now || !ReadExactly(file, std::as_writable_bytes(std::span(key.id))) ||
      !ReadExactly(file, std::as_writable_bytes(std::span(out.tokens))) || path.filename() != NameOf(key)) {
    return false;
  }
  used_ += out.bytes;
  files_.insert_or_assign(std::move(key), std::move(out));
  return true;
}

void SessionFiles::MakeRoom(int64_t bytes) {
  while (!files_.empty() && used_ + bytes > limit_) {
    const auto oldest = std::ranges::min_element(files_, {}, [](const auto& entry) { return entry.second.written; });
    Remove(SessionKey(oldest->first));
  }
}

Status SessionFiles::Write(const SessionKey& key, std::span<const TokenId> tokens, std::span<const std::byte> kv,
                           WallTime expires, std::chrono::seconds ttl) {
  const Header header{.fingerprint = fingerprint_,
                      .owner = key.owner,
                      .expires = expires.time_since_epoch().count(),
                      .ttl = ttl.count(),
                      .tokens = tokens.size(),
                      .kv_bytes = kv.size(),
                      .id_bytes = key.id.size()};
  const auto size = static_cast<int64_t>(header.file_bytes());
  if (size > limit_) {
    return Fail(ErrorCode::kResourceExhausted,
                "the session takes {} bytes on disk, and runtime.session_disk allows {} for all of them", size, limit_);
  }
  Remove(key);
  MakeRoom(size);
  const auto id = std::as_bytes(std::span(key.id));
  const auto ids = std::as_bytes(tokens);
  const uint64_t sum = Checksum(kv, Checksum(ids, Checksum(id, Checksum(BytesOf(header), 0))));
  const fs::path path = directory_ / NameOf(key);
  const fs::path partial = directory_ / (NameOf(key) + ".partial");
  if (!WriteAll(partial, {BytesOf(header), id, ids, kv, BytesOf(sum)}) ||
      std::rename(partial.c_str(), path.c_str()) != 0) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    return Fail(ErrorCode::kIo, "cannot write the session file {}", path.string());
  }
  used_ += size;
  files_.insert_or_assign(key, SessionFile{.path = path,
                                           .tokens = {tokens.begin(), tokens.end()},
                                           .bytes = size,
                                           .expires = expires,
                                           .ttl = ttl,
                                           .written = next_++});
  return {};
}

Result<std::vector<std::byte>> SessionFiles::Read(const SessionKey& key) {
  const SessionFile* found = Find(key);
  if (found == nullptr) return Fail(ErrorCode::kNotFound, "there is no file for the session '{}'", key.id);
  std::ifstream file(found->path, std::ios::binary);
  std::vector<std::byte> all(static_cast<size_t>(found->bytes));
  Header header;
  uint64_t sum = 0;
  bool good = ReadExactly(file, all) && file.peek() == std::ifstream::traits_type::eof();
  if (good) {
    std::memcpy(&header, all.data(), sizeof header);
    std::memcpy(&sum, all.data() + all.size() - sizeof sum, sizeof sum);
    good = Plausible(header, all.size()) && header.fingerprint == fingerprint_ && header.id_bytes == key.id.size();
  }
  if (good) {
    // In the parts in which it was written: a word never spans two parts.
    std::span<const std::byte> rest = all;
    const auto next = [&](size_t size) { return std::exchange(rest, rest.subspan(size)).first(size); };
    uint64_t computed = Checksum(next(sizeof header), 0);
    computed = Checksum(next(header.id_bytes), computed);
    const auto ids = next(header.tokens * sizeof(TokenId));
    computed = Checksum(next(header.kv_bytes), Checksum(ids, computed));
    good = computed == sum && std::ranges::equal(ids, std::as_bytes(std::span(found->tokens)));
  }
  if (!good) {
    const std::string path = found->path.string();
    Remove(key);
    return Fail(ErrorCode::kDataLoss, "the session file {} is damaged", path);
  }
  all.erase(all.end() - sizeof sum, all.end());
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(header.kv_bytes));
  return all;
}

void SessionFiles::Remove(const SessionKey& key) {
  const auto found = files_.find(key);
  if (found == files_.end()) return;
  std::error_code ignored;
  fs::remove(found->second.path, ignored);
  used_ -= found->second.bytes;
  files_.erase(found);
}

const SessionFile* SessionFiles::Find(const SessionKey& key) const {
  const auto found = files_.find(key);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace inferflux::scheduler
