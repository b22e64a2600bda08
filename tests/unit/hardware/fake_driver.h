// Changes what a fake driver answers, for the time of a test.
#pragma once

#include <gtest/gtest.h>

#include "hardware/shared_library.h"

namespace inferflux::hardware::testing {

template <class Answers>
class FakeDriver {
 public:
  // `function` of the library at `path` returns the library's answers.
  FakeDriver(const char* path, const char* function) : path_(path) {
    const auto library = SharedLibrary::Open(path);
    if (library) {
      if (auto* answers = library->Find<Answers*()>(function); answers != nullptr) answers_ = answers();
    }
    if (answers_ != nullptr) return;
    ADD_FAILURE() << path << " was not built, or lacks " << function;
    answers_ = &unused_;
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver() { *answers_ = Answers(); }

  Answers* operator->() const { return answers_; }
  const char* path() const { return path_; }

 private:
  const char* path_;
  Answers* answers_ = nullptr;
  Answers unused_ = {};
};

}  // namespace inferflux::hardware::testing
