// A file mapped read-only into memory. If it is truncated meanwhile, the lost bytes read as zeros (file_faults.h).
// Pages are loaded when they are touched, and are shared with all other processes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file_faults/file_faults.h"
#include "base/result.h"

namespace inferflux {

class MappedFile {
 public:
  // An empty file is an error: no file that we map may be empty.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, const std::byte* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size), guard_(std::in_place, data, size, path_) {}

  std::string path_;
  const std::byte* data_;
  size_t size_;
  std::optional<GuardedRange> guard_;
};

}  // namespace inferflux
