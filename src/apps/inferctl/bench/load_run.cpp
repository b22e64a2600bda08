#include "apps/inferctl/bench/load_run.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

namespace inferflux::apps {
namespace {

using Clock = std::chrono::steady_clock;

class Load {
 public:
  Load(const LoadTarget& target, const LoadShape& shape, uint64_t round, const OnRecord& on_record,
       const std::function<bool()>& should_stop)
      : target_(target), shape_(shape), source_(shape, round), on_record_(on_record), should_stop_(should_stop) {}

  LoadResult Run() {
    const auto began = Clock::now();
    if (shape_.rate > 0.0) {
      RunArrivals(began);
    } else {
      RunClients();
    }
    result_.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    return std::move(result_);
  }

 private:
  void RunClients() {
    std::vector<std::thread> clients;
    for (int32_t i = 0; i < std::min(shape_.concurrency, shape_.requests); ++i) {
      clients.emplace_back([this] {
        std::vector<int32_t> prompt;
        while (Begin(prompt)) One(prompt);
      });
    }
    for (std::thread& client : clients) client.join();
  }

  void RunArrivals(Clock::time_point arrival) {
    std::vector<std::thread> requests;
    std::vector<int32_t> prompt;
    while (Begin(prompt)) {
      std::this_thread::sleep_until(arrival);
      requests.emplace_back([this, prompt] { One(prompt); });
      arrival += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(source_.NextGap()));
    }
    for (std::thread& request : requests) request.join();
  }

  bool Begin(std::vector<int32_t>& prompt) {
    std::lock_guard lock(mutex_);
    if (begun_ == shape_.requests || should_stop_()) return false;
    ++begun_;
    prompt = source_.Next();
    return true;
  }

  void One(const std::vector<int32_t>& prompt) {
    ApiClient client(target_.address, target_.api_key);
    client.http().should_stop = should_stop_;
    RequestRecord record = RunRequest(client, shape_, prompt);
    std::lock_guard lock(mutex_);
    on_record_(record);
    result_.records.push_back(std::move(record));
  }

  const LoadTarget& target_;
  const LoadShape& shape_;
  std::mutex mutex_;  // guards everything below
  PromptSource source_;
  const OnRecord& on_record_;
  const std::function<bool()>& should_stop_;
  int32_t begun_ = 0;
  LoadResult result_;
};

}  // namespace

LoadResult RunLoad(const LoadTarget& target, const LoadShape& shape, uint64_t round, const OnRecord& on_record,
                   const std::function<bool()>& should_stop) {
  return Load(target, shape, round, on_record, should_stop).Run();
}

}  // namespace inferflux::apps
