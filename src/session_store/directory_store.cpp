#include "session_store/directory_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace inferflux::session_store {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::hours kBetweenSweeps{1};

// An open file, or -1. Closes it.
class File {
 public:
  File(const fs::path& path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int number() const { return number_; }

 private:
  const int number_;
};

// Writes everything, waits until the disk has it, and lets the file's time say when it expires: no other file is needed
// to know that. Zero, or the error of the system.
int Write(const fs::path& path, std::string_view bytes, scheduler::WallTime expires) {
  const File file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (file.number() < 0) return errno;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written == 0 ? ENOSPC : errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  const timespec time{.tv_sec = expires.time_since_epoch().count(), .tv_nsec = 0};
  const timespec times[] = {time, time};
  return ::futimens(file.number(), times) != 0 || ::fsync(file.number()) != 0 ? errno : 0;
}

}  // namespace

Result<std::shared_ptr<DirectoryStore>> DirectoryStore::Open(fs::path directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error && ::access(directory.c_str(), R_OK | W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (error) {
    return Fail(ErrorCode::kIo, "the session store {} (runtime.session_store): {}", directory.string(),
                error.message());
  }
  return std::shared_ptr<DirectoryStore>(new DirectoryStore(std::move(directory)));
}

// 256 folders, so that none has too many files.
fs::path DirectoryStore::PathOf(const std::string& name) const { return directory_ / name.substr(0, 2) / name; }

Status DirectoryStore::Put(const std::string& name, std::string blob, scheduler::WallTime expires) {
  Sweep();
  const fs::path path = PathOf(name);
  fs::path partial = path;
  {
    std::lock_guard lock(mutex_);
    partial += fmt::format(".{:08x}{:08x}.partial", random_(), random_());
  }
  std::error_code error;
  fs::create_directory(path.parent_path(), error);
  int failed = Write(partial, blob, expires);
  if (failed == 0 && std::rename(partial.c_str(), path.c_str()) != 0) failed = errno;
  if (failed == 0) return {};
  fs::remove(partial, error);
  return Fail(ErrorCode::kIo, "cannot write {}: {}", path.string(), std::strerror(failed));
}

Result<std::string> DirectoryStore::Get(const std::string& name, size_t most) {
  const fs::path path = PathOf(name);
  const File file(path, O_RDONLY);
  if (file.number() < 0 && errno == ENOENT) return Fail(ErrorCode::kNotFound, "the store has no such session");
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) {
    return Fail(ErrorCode::kIo, "cannot read {}: {}", path.string(), std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode) || status.st_size < 0 || static_cast<uint64_t>(status.st_size) > most) {
    return Fail(ErrorCode::kDataLoss, "{} is not a file of at most {} bytes", path.string(), most);
  }
  std::string out(static_cast<size_t>(status.st_size), '\0');
  for (size_t have = 0; have < out.size();) {
    const ssize_t read = ::read(file.number(), out.data() + have, out.size() - have);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0)
      return Fail(ErrorCode::kIo, "cannot read {}: {}", path.string(),
                  read == 0 ? "it became shorter" : std::strerror(errno));
    have += static_cast<size_t>(read);
  }
  return out;
}

Status DirectoryStore::Remove(const std::string& name) {
  std::error_code error;
  fs::remove(PathOf(name), error);
  if (error) return Fail(ErrorCode::kIo, "cannot remove {}: {}", PathOf(name).string(), error.message());
  return {};
}

void DirectoryStore::Sweep() {
  {
    std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_sweep_) return;
    next_sweep_ = now + kBetweenSweeps;
  }
  const fs::file_time_type limit = fs::file_time_type::clock::now() - kGrace;
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(directory_, error)) {
    if (!folder.is_directory(error) || folder.path().filename().string().size() != 2) continue;
    for (const auto& file : fs::directory_iterator(folder.path(), error)) {
      const auto time = file.last_write_time(error);
      if (!error && time < limit) fs::remove(file.path(), error);
    }
  }
}

}  // namespace inferflux::session_store
