// A file that appears under its name only when it is complete: written beside it first, then renamed.
#pragma once

#include <fstream>
#include <string>

#include "base/result.h"

namespace inferflux::apps {

class OutputFile {
 public:
  static Result<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // deletes an uncommitted file

  std::ostream& stream() { return stream_; }
  Status Commit();

 private:
  OutputFile(std::string path, std::string partial, std::ofstream stream)
      : path_(std::move(path)), partial_(std::move(partial)), stream_(std::move(stream)) {}

  std::string path_;
  std::string partial_;  // empty: nothing to delete
  std::ofstream stream_;
};

}  // namespace inferflux::apps
