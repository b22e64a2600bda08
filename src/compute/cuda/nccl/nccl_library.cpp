// NCCL by its library. Written after its documentation: it was opened on a GPU, and has exchanged nothing.
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "compute/cuda/nccl/nccl.h"
#include "compute/cuda/nccl/nccl_api.h"
#include "hardware/shared_library.h"

namespace inferflux::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOldest = 21800;  // 2.18: the form of its configuration
constexpr auto kJoinTime = std::chrono::seconds(60);
constexpr auto kShort = std::chrono::milliseconds(1);  // until here an answer is expected soon

// ncclGetVersion's number: 21801 for 2.18.1.
std::string VersionText(int number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

struct Functions {
  nccl_api::GetVersion* get_version = nullptr;
  nccl_api::GetUniqueId* get_unique_id = nullptr;
  nccl_api::GetErrorString* get_error_string = nullptr;
  nccl_api::GetLastError* get_last_error = nullptr;
  nccl_api::CommInitRankConfig* init = nullptr;
  nccl_api::CommDestroy* destroy = nullptr;
  nccl_api::CommAbort* abort = nullptr;
  nccl_api::CommGetAsyncError* get_async_error = nullptr;
  nccl_api::CommCount* count = nullptr;
  nccl_api::AllReduce* all_reduce = nullptr;
  nccl_api::AllGather* all_gather = nullptr;
  nccl_api::Broadcast* broadcast = nullptr;
  nccl_api::Send* send = nullptr;
  nccl_api::Recv* receive = nullptr;

  // The name of a function that the library does not have; null: it has them all.
  const char* Find(const hardware::SharedLibrary& library) {
    const char* missing = nullptr;
    const auto find = [&]<class F>(F*& to, const char* name) {
      to = library.Find<F>(name);
      if (to == nullptr) missing = name;
    };
    find(get_version, "ncclGetVersion");
    find(get_unique_id, "ncclGetUniqueId");
    find(get_error_string, "ncclGetErrorString");
    find(get_last_error, "ncclGetLastError");
    find(init, "ncclCommInitRankConfig");
    find(destroy, "ncclCommDestroy");
    find(abort, "ncclCommAbort");
    find(get_async_error, "ncclCommGetAsyncError");
    find(count, "ncclCommCount");
    find(all_reduce, "ncclAllReduce");
    find(all_gather, "ncclAllGather");
    find(broadcast, "ncclBroadcast");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    return missing;
  }
};

class LibraryCommunicator final : public NcclCommunicator {
 public:
  explicit LibraryCommunicator(const Functions& functions) : functions_(functions) {}
  ~LibraryCommunicator() override {
    if (comm_ != nullptr) (void)functions_.destroy(comm_);  // an error: there is nothing to free
  }

  Status Begin(const NcclId& id, int32_t size, int32_t rank, FunctionRef<Status()> alive) {
    nccl_api::UniqueId unique;
    std::memcpy(unique.internal, id.bytes.data(), sizeof(unique.internal));
    nccl_api::Config config;
    const int code = functions_.init(&comm_, size, unique, rank, &config);
    const auto until = Clock::now() + kJoinTime;
    Status joined = Finish(code, "joining", [&]() -> Status {
      if (auto still = alive(); !still) return still;
      if (Clock::now() < until) return {};
      return Fail(ErrorCode::kUnavailable, "NCCL: the {} ranks did not meet within {} s", size, kJoinTime.count());
    });
    if (!joined) Abort();
    return joined;
  }

  Result<int32_t> Size() override {
    int size = 0;
    auto counted = Call("the number of ranks", [&](nccl_api::Comm comm) { return functions_.count(comm, &size); });
    if (!counted) return Forward(counted);
    return size;
  }
  Status AllReduce(float* values, size_t count, collective::Reduction reduction, Stream stream) override {
    const int operation = reduction == collective::Reduction::kSum ? nccl_api::kSum : nccl_api::kMax;
    return Call("an all_reduce", [&](nccl_api::Comm comm) {
      return functions_.all_reduce(values, values, count, nccl_api::kFloat32, operation, comm, stream.native);
    });
  }
  Status AllGather(const float* own, float* all, size_t count, Stream stream) override {
    return Call("an all_gather", [&](nccl_api::Comm comm) {
      return functions_.all_gather(own, all, count, nccl_api::kFloat32, comm, stream.native);
    });
  }
  Status Broadcast(float* values, size_t count, int32_t root, Stream stream) override {
    return Call("a broadcast", [&](nccl_api::Comm comm) {
      return functions_.broadcast(values, values, count, nccl_api::kFloat32, root, comm, stream.native);
    });
  }
  Status Send(const float* values, size_t count, int32_t to, Stream stream) override {
    return Call("a send", [&](nccl_api::Comm comm) {
      return functions_.send(values, count, nccl_api::kFloat32, to, comm, stream.native);
    });
  }
  Status Receive(float* values, size_t count, int32_t from, Stream stream) override {
    return Call("a receive", [&](nccl_api::Comm comm) {
      return functions_.receive(values, count, nccl_api::kFloat32, from, comm, stream.native);
    });
  }

  Status AsyncError() override {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return Aborted();
    return Check(State(), "work between devices");
  }
  void Abort() override {
    const std::lock_guard lock(mutex_);
    if (comm_ != nullptr) (void)functions_.abort(comm_);
    comm_ = nullptr;
  }

 private:
  static Status Aborted() { return Fail(ErrorCode::kUnavailable, "NCCL: the communicator was aborted"); }

  // Under the mutex.
  int State() const {
    int state = nccl_api::kSuccess;
    const int asked = functions_.get_async_error(comm_, &state);
    return asked == nccl_api::kSuccess ? state : asked;
  }
  Status Check(int code, const char* doing) const {
    if (code == nccl_api::kSuccess || code == nccl_api::kInProgress) return {};
    const char* last = functions_.get_last_error(comm_);
    return Fail(ErrorCode::kUnavailable, "NCCL: {} failed: {}{}{}", doing, functions_.get_error_string(code),
                last != nullptr && *last != '\0' ? ": " : "", last == nullptr ? "" : last);
  }

  template <class F>
  Status Call(const char* doing, const F& call) {
    int code = nccl_api::kSuccess;
    {
      const std::lock_guard lock(mutex_);
      if (comm_ == nullptr) return Aborted();
      code = call(comm_);
    }
    return Finish(code, doing, [] { return Status(); });
  }

  // Waits, with the mutex free, until the library has taken the call; its work is on the stream then.
  Status Finish(int code, const char* doing, FunctionRef<Status()> go_on) {
    const auto began = Clock::now();
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (code == nccl_api::kInProgress && comm_ == nullptr) return Aborted();
        if (code != nccl_api::kInProgress) return Check(code, doing);
        code = State();
        if (code != nccl_api::kInProgress) continue;
      }
      if (auto goes_on = go_on(); !goes_on) return goes_on;
      if (Clock::now() - began < kShort) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kShort);
      }
    }
  }

  const Functions functions_;
  std::mutex mutex_;
  nccl_api::Comm comm_ = nullptr;
};

class LibraryNccl final : public Nccl {
 public:
  LibraryNccl(const Functions& functions, int version) : functions_(functions), version_(VersionText(version)) {}

  std::string version() const override { return version_; }

  Result<NcclId> NewId() override {
    nccl_api::UniqueId unique{};
    if (const int code = functions_.get_unique_id(&unique); code != nccl_api::kSuccess) {
      return Fail(ErrorCode::kUnavailable, "NCCL: a new id failed: {}", functions_.get_error_string(code));
    }
    NcclId id;
    std::memcpy(id.bytes.data(), unique.internal, id.bytes.size());
    return id;
  }

  Result<std::unique_ptr<NcclCommunicator>> Join(const NcclId& id, int32_t size, int32_t rank,
                                                 FunctionRef<Status()> alive) override {
    auto communicator = std::make_unique<LibraryCommunicator>(functions_);
    if (auto begun = communicator->Begin(id, size, rank, alive); !begun) return Forward(begun);
    return communicator;
  }

 private:
  Functions functions_;
  std::string version_;
};

}  // namespace

Result<std::unique_ptr<Nccl>> OpenNcclLibrary(const std::string& name) {
  const auto library = hardware::SharedLibrary::Open(name);
  if (!library) return Fail(ErrorCode::kUnsupported, "there is no {} here", name);
  Functions functions;
  if (const char* missing = functions.Find(*library); missing != nullptr) {
    return Fail(ErrorCode::kUnsupported, "{} has no function {}: it needs to be NCCL 2.18 or newer", name, missing);
  }
  int version = 0;
  if (functions.get_version(&version) != nccl_api::kSuccess || version < kOldest) {
    return Fail(ErrorCode::kUnsupported, "{} is NCCL {}; it needs to be 2.18 or newer", name, VersionText(version));
  }
  return std::make_unique<LibraryNccl>(functions, version);
}

}  // namespace inferflux::cuda
