#include "apps/inferfluxd/load_display.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "apps/console/progress_bar.h"
#include "base/log.h"

namespace inferflux::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{200};
constexpr std::chrono::seconds kBetweenLines{10};
constexpr uint64_t kWhole = 1000;  // the bar's steps

// One load after the other: the pool runs them so.
class Shown {
 public:
  explicit Shown(bool bar) : as_bar_(bar) {}

  void Show(const serving::LoadingModel& model) {
    if (model.id != id_) Begin(model.id);
    if (bar_) {
      bar_->Show(static_cast<uint64_t>(model.progress.fraction * kWhole), kWhole, "loading " + id_);
    } else if (const auto now = Clock::now(); now - told_ >= kBetweenLines) {
      told_ = now;
      log::Write(log::Level::kInfo, "loading",
                 {{"model", id_},
                  {"backend", model.progress.backend},
                  {"percent", fmt::format("{:.0f}", 100 * model.progress.fraction), true},
                  {"seconds", fmt::format("{:.0f}", model.seconds), true}});
    }
  }
  void Clear() {
    if (bar_) bar_->Clear();
    bar_.reset();
    id_.clear();
  }

 private:
  void Begin(const std::string& id) {
    Clear();
    id_ = id;
    told_ = Clock::now();
    if (as_bar_) bar_.emplace();
  }

  const bool as_bar_;
  std::string id_;
  std::optional<ProgressBar> bar_;
  Clock::time_point told_;
};

void Run(const std::stop_token& stop, const serving::ModelPool& pool, bool bar) {
  std::mutex mutex;
  std::condition_variable_any wait;
  Shown shown(bar);
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    if (const auto loading = pool.Loading(); loading.empty()) {
      shown.Clear();
    } else {
      shown.Show(loading.front());
    }
    wait.wait_for(lock, stop, kPoll, [] { return false; });
  }
  shown.Clear();
}

}  // namespace

LoadDisplay::LoadDisplay(const serving::ModelPool& pool, bool bar)
    : thread_([&pool, bar](const std::stop_token& stop) { Run(stop, pool, bar); }) {}

LoadDisplay::~LoadDisplay() = default;  // jthread asks its thread to stop, and joins it

}  // namespace inferflux::apps
