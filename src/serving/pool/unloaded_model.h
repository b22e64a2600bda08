// What a pool says of a model that does not serve.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "serving/models/load_progress.h"

namespace inferflux::serving {

// A load in progress, or one that waits for its turn.
struct LoadingModel {
  std::string id;
  std::string path;
  std::string requested_backend;
  LoadProgress::Snapshot progress;
  double seconds = 0;  // since its start
};

// A model that failed to load when the server started or when it was first used.
struct FailedModel {
  std::string id;
  std::string path;
  std::string requested_backend;
  std::string error;
  std::chrono::steady_clock::time_point when = std::chrono::steady_clock::now();
};

struct UnloadedModel {
  enum class State { kUnloaded, kLoading, kFailed };

  std::string id;
  std::string path;
  State state = State::kUnloaded;
  std::string error = {};  // why it failed
  bool withdrawn = false;  // it was unloaded by a call, not because it was idle or for its memory
};

// "unloaded", "loading", "failed".
constexpr std::string_view StateName(UnloadedModel::State state) {
  return state == UnloadedModel::State::kLoading  ? "loading"
         : state == UnloadedModel::State::kFailed ? "failed"
                                                  : "unloaded";
}

}  // namespace inferflux::serving
