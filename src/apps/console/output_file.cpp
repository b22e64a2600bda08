#include "apps/console/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace inferflux::apps {

Result<OutputFile> OutputFile::Create(const std::string& path) {
  const std::string partial = path + ".partial";
  std::ofstream stream(partial, std::ios::binary | std::ios::trunc);
  if (!stream) return Fail(ErrorCode::kIo, "cannot write {}: {}", partial, std::strerror(errno));
  return OutputFile(path, partial, std::move(stream));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), partial_(std::exchange(other.partial_, "")), stream_(std::move(other.stream_)) {}

OutputFile::~OutputFile() {
  if (partial_.empty()) return;
  stream_.close();
  std::remove(partial_.c_str());
}

Status OutputFile::Commit() {
  stream_.close();
  if (stream_.fail()) return Fail(ErrorCode::kIo, "writing {} failed: is the disk full?", partial_);
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    return Fail(ErrorCode::kIo, "cannot rename {} to {}: {}", partial_, path_, std::strerror(errno));
  }
  partial_.clear();
  return {};
}

}  // namespace inferflux::apps
