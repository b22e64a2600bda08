// Where the third-party conformance data lies, and what a test does where it is missing.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace inferflux::testing {

inline std::filesystem::path ConformanceDir() {
  if (const char* dir = std::getenv("INFERFLUX_CONFORMANCE_DIR")) return dir;
  return std::filesystem::path(INFERFLUX_SOURCE_DIR) / ".." / "shared" / "conformance";
}

inline bool RunsInCi() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

}  // namespace inferflux::testing

// Ends the test where the data set `name` is missing: a skip that names it, or a failure in CI, where it must be there.
#define INFERFLUX_REQUIRE_CONFORMANCE(name)                                                                 \
  do {                                                                                                      \
    if (!std::filesystem::exists(::inferflux::testing::ConformanceDir() / (name))) {                        \
      if (::inferflux::testing::RunsInCi()) FAIL() << "conformance data set '" << (name) << "' is missing"; \
      GTEST_SKIP() << "conformance data set '" << (name) << "' is not here; set INFERFLUX_CONFORMANCE_DIR"; \
    }                                                                                                       \
  } while (false)
