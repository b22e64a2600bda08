// Models with random weights in the shapes of known models, built in memory, so that an engine can be timed without a
// download.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace inferflux::apps {

// A GGUF file in memory; it lives as long as this object.
class SyntheticModel {
 public:
  // `shape`: see ShapeNames(). `type`: a mix such as Q4_K_M, or a single type such as F16.
  static Result<SyntheticModel> Make(const std::string& shape, const std::string& type);

  // A path under which this process can open it.
  std::string path() const;

  SyntheticModel(SyntheticModel&& other) noexcept;
  SyntheticModel& operator=(SyntheticModel&&) = delete;
  ~SyntheticModel();

 private:
  explicit SyntheticModel(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

std::string ShapeNames();

}  // namespace inferflux::apps
