#include "compute/cuda/nccl/host_nccl.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace inferflux::cuda {
namespace {

constexpr auto kLook = std::chrono::milliseconds(5);

using Values = std::vector<float>;

}  // namespace

struct HostNcclNetwork::State {
  // The ranks of one id.
  struct Group {
    int32_t size = 0;
    int32_t joined = 0;
    // The operation that all ranks are in: what each has given, and how many have taken the results.
    int32_t given = 0, taken = 0;
    std::string call;
    std::vector<Values> values;
    std::map<std::pair<int32_t, int32_t>, std::vector<Values>> sent;  // by (from, to)
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Group> groups;
  std::string broken;
  int32_t pretended = 0;
  int ids = 0, operations = 0, aborts = 0;
};

HostNcclNetwork::HostNcclNetwork() : state_(std::make_unique<State>()) {}
HostNcclNetwork::~HostNcclNetwork() = default;

void HostNcclNetwork::Break(const std::string& why) {
  const std::lock_guard lock(state_->mutex);
  state_->broken = why;
}

void HostNcclNetwork::PretendSize(int32_t size) {
  const std::lock_guard lock(state_->mutex);
  state_->pretended = size;
}

int HostNcclNetwork::operations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->operations;
}

int HostNcclNetwork::aborts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->aborts;
}

class HostNcclCommunicator final : public NcclCommunicator {
 public:
  HostNcclCommunicator(std::shared_ptr<HostNcclNetwork> network, HostNcclNetwork::State::Group& group, int32_t rank,
                       HostRuntime& runtime)
      : network_(std::move(network)), state_(*network_->state_), group_(group), rank_(rank), runtime_(runtime) {}

  Result<int32_t> Size() override {
    const std::lock_guard lock(state_.mutex);
    return state_.pretended > 0 ? state_.pretended : group_.size;
  }

  Status AllReduce(float* values, size_t count, collective::Reduction reduction, Stream stream) override {
    return Run(values, count, values, count, stream, [this, reduction](Values own) -> std::optional<Values> {
      const auto all = Meet(reduction == collective::Reduction::kSum ? "sum" : "max", std::move(own));
      if (!all) return std::nullopt;
      Values out = all->front();
      for (size_t rank = 1; rank < all->size(); ++rank) collective::Reduce(out, (*all)[rank], reduction);
      return out;
    });
  }
  Status AllGather(const float* own, float* all, size_t count, Stream stream) override {
    const auto size = static_cast<size_t>(group_.size);
    return Run(own, count, all, size * count, stream, [this](Values given) -> std::optional<Values> {
      const auto each = Meet("gather", std::move(given));
      if (!each) return std::nullopt;
      Values out;
      for (const Values& one : *each) out.insert(out.end(), one.begin(), one.end());
      return out;
    });
  }
  Status Broadcast(float* values, size_t count, int32_t root, Stream stream) override {
    return Run(values, count, values, count, stream, [this, root](Values own) -> std::optional<Values> {
      auto all = Meet("broadcast from " + std::to_string(root), std::move(own));
      if (!all) return std::nullopt;
      return std::move((*all)[static_cast<size_t>(root)]);
    });
  }
  Status Send(const float* values, size_t count, int32_t to, Stream stream) override {
    return Run(values, count, nullptr, 0, stream, [this, to](Values own) -> std::optional<Values> {
      const std::lock_guard lock(state_.mutex);
      group_.sent[{rank_, to}].push_back(std::move(own));
      state_.changed.notify_all();
      return std::nullopt;
    });
  }
  Status Receive(float* values, size_t count, int32_t from, Stream stream) override {
    return Run(nullptr, 0, values, count, stream, [this, from](const Values&) -> std::optional<Values> {
      std::unique_lock lock(state_.mutex);
      auto& sent = group_.sent[{from, rank_}];
      state_.changed.wait(lock, [&] { return aborted_ || !sent.empty(); });
      if (sent.empty()) return std::nullopt;
      Values first = std::move(sent.front());
      sent.erase(sent.begin());
      return first;
    });
  }

  Status AsyncError() override {
    const std::lock_guard lock(state_.mutex);
    if (state_.broken.empty()) return {};
    return Fail(ErrorCode::kUnavailable, "NCCL: {}", state_.broken);
  }
  void Abort() override {
    const std::lock_guard lock(state_.mutex);
    if (!std::exchange(aborted_, true)) ++state_.aborts;
    state_.changed.notify_all();
  }

 private:
  // Puts a copy to the host, `exchange` and a copy back on the stream, and waits for them. Without a result nothing is
  // copied back.
  Status Run(const float* from, size_t given, float* to, size_t wanted, Stream stream,
             const std::function<std::optional<Values>(Values)>& exchange) {
    {
      const std::lock_guard lock(state_.mutex);
      if (aborted_) return Fail(ErrorCode::kUnavailable, "NCCL: the communicator was aborted");
      ++state_.operations;
    }
    Values own(given);
    std::optional<Values> result;
    if (given > 0) {
      if (auto put = runtime_.CopyToHost(own.data(), from, given * sizeof(float), stream); !put) return put;
    }
    // Before the exchange, which waits for others: a fault of this device is not their wait.
    if (auto copied = runtime_.Synchronize(stream); !copied) return copied;
    result = exchange(std::move(own));
    if (!result || wanted == 0) return {};
    if (result->size() != wanted) return Fail(ErrorCode::kInvalidArgument, "NCCL: the ranks' counts differ");
    if (auto put = runtime_.CopyToDevice(to, result->data(), wanted * sizeof(float), stream); !put) return put;
    return runtime_.Synchronize(stream);
  }

  // What all ranks gave; nothing if this one was aborted, or if they do not do the same.
  std::optional<std::vector<Values>> Meet(const std::string& call, Values own) {
    std::unique_lock lock(state_.mutex);
    // The last operation may still have results that a rank has not taken.
    state_.changed.wait(lock, [&] { return aborted_ || group_.taken == 0; });
    if (aborted_) return std::nullopt;
    const std::string all = call + " of " + std::to_string(own.size());
    if (group_.given == 0) {
      group_.call = all;
      group_.values.assign(static_cast<size_t>(group_.size), {});
    } else if (group_.call != all) {
      state_.broken = "rank " + std::to_string(rank_) + " does a " + all + ", others a " + group_.call;
    }
    group_.values[static_cast<size_t>(rank_)] = std::move(own);
    ++group_.given;
    state_.changed.notify_all();
    state_.changed.wait(lock, [&] { return aborted_ || group_.given == group_.size; });
    if (aborted_) return std::nullopt;
    auto out = group_.values;
    if (++group_.taken == group_.size) group_.given = group_.taken = 0;
    state_.changed.notify_all();
    return out;
  }

  std::shared_ptr<HostNcclNetwork> network_;
  HostNcclNetwork::State& state_;
  HostNcclNetwork::State::Group& group_;
  const int32_t rank_;
  HostRuntime& runtime_;
  bool aborted_ = false;
};

Result<NcclId> HostNccl::NewId() {
  const std::lock_guard lock(network_->state_->mutex);
  NcclId id;
  const std::string text = "host " + std::to_string(++network_->state_->ids);
  std::memcpy(id.bytes.data(), text.data(), text.size());
  return id;
}

Result<std::unique_ptr<NcclCommunicator>> HostNccl::Join(const NcclId& id, int32_t size, int32_t rank,
                                                         FunctionRef<Status()> alive) {
  HostNcclNetwork::State& state = *network_->state_;
  std::unique_lock lock(state.mutex);
  HostNcclNetwork::State::Group& group = state.groups[std::string(id.bytes.data(), id.bytes.size())];
  group.size = size;
  ++group.joined;
  state.changed.notify_all();
  while (group.joined < group.size) {
    state.changed.wait_for(lock, kLook);
    lock.unlock();
    if (auto still = alive(); !still) return Forward(still);
    lock.lock();
  }
  return std::make_unique<HostNcclCommunicator>(network_, group, rank, runtime_);
}

}  // namespace inferflux::cuda
