#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace inferflux {

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block; for a file it means nothing
  if (fd < 0) {
    return Fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "cannot open {}: {}", path,
                std::strerror(errno));
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return Fail(ErrorCode::kInvalidArgument, "cannot map {}: it is not a regular file", path);
  }
  if (info.st_size == 0) {
    ::close(fd);
    return Fail(ErrorCode::kDataLoss, "{} is empty", path);
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  const int map_errno = errno;
  ::close(fd);
  if (data == MAP_FAILED) return Fail(ErrorCode::kIo, "cannot map {}: {}", path, std::strerror(map_errno));
  return std::shared_ptr<const MappedFile>(new MappedFile(path, static_cast<const std::byte*>(data), size));
}

// The guard ends first: once the range is unmapped, another file may take its addresses.
MappedFile::~MappedFile() {
  guard_.reset();
  ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace inferflux
