#include "collective/mpi/mpi_job.h"

#define OMPI_SKIP_MPICXX 1  // the deprecated C++ bindings, which need another library
#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace inferflux::collective {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBusy = std::chrono::microseconds(200);
constexpr auto kShort = std::chrono::milliseconds(100);  // until here the others are expected soon
constexpr auto kStopping = std::chrono::milliseconds(300);
constexpr size_t kMostBytes = size_t{1} << 30;  // MPI counts in int

std::string TextOf(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<size_t>(length)};
}

Status CheckMpi(int code, const char* doing) {
  if (code == MPI_SUCCESS) return {};
  return Fail(ErrorCode::kUnavailable, "{} between ranks through MPI failed: {}", doing, TextOf(code));
}

void Pause(Clock::duration waited) {
  if (waited < kBusy) {
    ::sched_yield();
    return;
  }
  const timespec time{.tv_sec = 0, .tv_nsec = waited < kShort ? 50'000 : 500'000};
  ::nanosleep(&time, nullptr);
}

// Operations do not block inside MPI, so that a dead peer, which mpirun answers with a signal, ends them.
class MpiCollective final : public Collective {
 public:
  MpiCollective(int32_t rank, int32_t size, std::shared_ptr<const std::atomic<bool>> stopping)
      : Collective(rank, size), stopping_(std::move(stopping)) {}
  // MPI_Finalize waits for the other ranks, which are gone after a failure; mpirun ends what is left of the job then.
  ~MpiCollective() override {
    if (!broken_) MPI_Finalize();
  }

  std::string name() const override { return "MPI"; }

 private:
  Status Wait(MPI_Request request, const char* doing) {
    const auto began = Clock::now();
    Clock::time_point stop_seen{};
    while (true) {
      int done = 0;
      if (auto tested = CheckMpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), doing); !tested) return Broken(tested);
      if (done != 0) return {};
      const auto now = Clock::now();
      if (stopping_ && *stopping_) {
        if (stop_seen == Clock::time_point()) stop_seen = now;
        if (now - stop_seen > kStopping) {
          return Broken(Fail(ErrorCode::kUnavailable, "the job is being stopped, or another of its ranks has died"));
        }
      }
      Pause(now - began);
    }
  }

  Status Broken(Status why) {
    broken_ = true;
    return why;
  }

  // The sum has the order of the ranks, which MPI_Allreduce does not promise.
  Status DoAllReduce(std::span<float> values, Reduction reduction) override {
    std::vector<float> all(values.size() * static_cast<size_t>(size()));
    if (auto done = DoAllGather(std::as_bytes(values), std::as_writable_bytes(std::span(all))); !done) return done;
    std::copy_n(all.begin(), values.size(), values.begin());
    for (size_t rank = 1; rank < static_cast<size_t>(size()); ++rank) {
      Reduce(values, std::span<const float>(all).subspan(rank * values.size(), values.size()), reduction);
    }
    return {};
  }

  Status DoAllGather(std::span<const std::byte> own, std::span<std::byte> all) override {
    const size_t most = kMostBytes / static_cast<size_t>(size());
    if (own.size() > most) {
      return Fail(ErrorCode::kInvalidArgument, "{} bytes of a rank; all ranks gather at most {}", own.size(), most);
    }
    const int count = static_cast<int>(own.size());
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun =
        MPI_Iallgather(own.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, MPI_COMM_WORLD, &request);
    if (auto checked = CheckMpi(begun, "an all_gather"); !checked) return Broken(checked);
    return Wait(request, "an all_gather");
  }

  Status DoBroadcast(std::span<std::byte> bytes, int32_t root) override {
    return InTurns(bytes, "a broadcast", [&](std::span<std::byte> part, MPI_Request* request) {
      return MPI_Ibcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, MPI_COMM_WORLD, request);
    });
  }
  Status DoSend(std::span<const std::byte> bytes, int32_t to) override {
    return InTurns(bytes, "a send", [&](std::span<const std::byte> part, MPI_Request* request) {
      return MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD, request);
    });
  }
  Status DoReceive(std::span<std::byte> bytes, int32_t from) override {
    return InTurns(bytes, "a receive", [&](std::span<std::byte> part, MPI_Request* request) {
      return MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, from, 0, MPI_COMM_WORLD, request);
    });
  }

  template <class T, class Begin>
  Status InTurns(std::span<T> bytes, const char* doing, Begin begin) {
    for (size_t first = 0; first < bytes.size(); first += kMostBytes) {
      MPI_Request request = MPI_REQUEST_NULL;
      const auto part = bytes.subspan(first, std::min(kMostBytes, bytes.size() - first));
      if (auto checked = CheckMpi(begin(part, &request), doing); !checked) return Broken(checked);
      if (auto done = Wait(request, doing); !done) return done;
    }
    return {};
  }

  // The end of this process, which follows, is what the others get to know.
  void DoAbort(const Error&) override { broken_ = true; }

  std::shared_ptr<const std::atomic<bool>> stopping_;
  bool broken_ = false;
};

}  // namespace

Result<std::shared_ptr<Collective>> JoinMpiJob(std::shared_ptr<const std::atomic<bool>> stopping) {
  if (!StartedByMpirun()) return nullptr;
  int given = 0;
  if (auto begun = CheckMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given), "the start"); !begun) {
    return Forward(begun);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (given < MPI_THREAD_SERIALIZED) {
    return Fail(ErrorCode::kUnsupported, "this MPI library does not let one thread after another call it");
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (auto valid = CheckRank(rank, size); !valid) return Forward(valid);
  return std::make_shared<MpiCollective>(rank, size, std::move(stopping));
}

std::string MpiLibrary() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<size_t>(length));
  return all.substr(0, all.find(','));
}

}  // namespace inferflux::collective
