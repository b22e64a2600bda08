#include "collective/shared_memory/rank_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

extern char** environ;

namespace inferflux::collective {
namespace {

constexpr int kAliveDescriptor = RankProcesses::kMemoryDescriptor + 1;
constexpr auto kEndTime = std::chrono::seconds(5);  // for a process to free its weights

bool MakePipe(int (&ends)[2]) {
  if (::pipe(ends) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
}

// What a child does before it becomes the program: only the two descriptors are its own.
class SpawnPlan {
 public:
  SpawnPlan(int memory, int alive) {
    ::posix_spawn_file_actions_init(&actions_);
    // Either may have the other's number already, so both go out of the way first.
    ::posix_spawn_file_actions_adddup2(&actions_, memory, kAliveDescriptor + 1);
    ::posix_spawn_file_actions_adddup2(&actions_, alive, kAliveDescriptor + 2);
    ::posix_spawn_file_actions_adddup2(&actions_, kAliveDescriptor + 1, RankProcesses::kMemoryDescriptor);
    ::posix_spawn_file_actions_adddup2(&actions_, kAliveDescriptor + 2, kAliveDescriptor);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kAliveDescriptor + 1);
#else
    ::posix_spawn_file_actions_addclose(&actions_, kAliveDescriptor + 1);
    ::posix_spawn_file_actions_addclose(&actions_, kAliveDescriptor + 2);
#endif
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setpgroup(&attributes_, 0);  // Ctrl-C is for rank 0, which ends the others
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  int Run(const std::string& program, std::vector<std::string> words, pid_t* process) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return ::posix_spawn(process, program.c_str(), &actions_, &attributes_, pointers.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<std::unique_ptr<RankProcesses>> RankProcesses::Start(std::shared_ptr<Segment> segment,
                                                            const std::string& program,
                                                            const std::vector<std::string>& arguments,
                                                            std::function<void(const Error&)> on_death) {
  if (::access(program.c_str(), X_OK) != 0) {
    return Fail(ErrorCode::kNotFound, "cannot run {}, which runs the other ranks of a model: {}", program,
                std::strerror(errno));
  }
  std::unique_ptr<RankProcesses> out(new RankProcesses(std::move(segment), std::move(on_death)));
  if (!MakePipe(out->stop_)) return Fail(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  for (int32_t rank = 1; rank < out->segment_->ranks(); ++rank) {
    if (auto spawned = out->Spawn(program, arguments, rank); !spawned) return Forward(spawned);
  }
  out->watch_ = std::thread([self = out.get()] { self->Watch(); });
  return out;
}

Status RankProcesses::Spawn(const std::string& program, const std::vector<std::string>& arguments, int32_t rank) {
  int alive[2];
  if (!MakePipe(alive)) return Fail(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  std::vector<std::string> words{program, "--rank", std::to_string(rank), "--ranks", std::to_string(segment_->ranks())};
  words.insert(words.end(), arguments.begin(), arguments.end());
  pid_t id = 0;
  const int failed = SpawnPlan(segment_->descriptor(), alive[1]).Run(program, std::move(words), &id);
  ::close(alive[1]);
  if (failed != 0) {
    ::close(alive[0]);
    return Fail(ErrorCode::kIo, "cannot start {}: {}", program, std::strerror(failed));
  }
  processes_.push_back({.rank = rank, .id = id, .end = alive[0]});
  segment_->rank(rank).process.store(static_cast<int32_t>(id));  // its death is seen also before it joins
  return {};
}

void RankProcesses::Watch() {
  std::vector<pollfd> ends;
  for (const Process& process : processes_) ends.push_back({.fd = process.end, .events = POLLIN, .revents = 0});
  ends.push_back({.fd = stop_[0], .events = POLLIN, .revents = 0});
  while (true) {
    if (::poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) return;
    if (ends.back().revents != 0) return;
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (ends[i].revents == 0) continue;
      ends[i].fd = -1;  // poll ignores it
      ends[i].revents = 0;
      if (!expected_) Report(processes_[i]);
    }
  }
}

void RankProcesses::Report(const Process& process) {
  siginfo_t info{};
  std::string how;
  // Without reaping: the destructor does.
  if (::waitid(P_PID, static_cast<id_t>(process.id), &info, WEXITED | WNOWAIT) == 0) {
    how = info.si_code == CLD_EXITED ? fmt::format("with exit code {}", info.si_status)
                                     : fmt::format("by signal {}", info.si_status);
  }
  const Error why{ErrorCode::kUnavailable, fmt::format("rank {} of {} (process {}) has ended {}", process.rank,
                                                       segment_->ranks(), process.id, how)};
  segment_->SetFailed(why);
  if (on_death_) on_death_(why);
}

RankProcesses::~RankProcesses() {
  expected_ = true;
  const auto until = std::chrono::steady_clock::now() + kEndTime;
  for (const Process& process : processes_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd end{.fd = process.end, .events = POLLIN, .revents = 0};
    if (::poll(&end, 1, static_cast<int>(std::max<int64_t>(0, left.count()))) == 0) ::kill(process.id, SIGKILL);
    int status = 0;
    while (::waitpid(process.id, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (watch_.joinable()) {
    const char word = 0;
    (void)!::write(stop_[1], &word, 1);
    watch_.join();
  }
  for (const Process& process : processes_) ::close(process.end);
  for (const int end : stop_) {
    if (end >= 0) ::close(end);
  }
}

std::string OwnFolder() {
  std::error_code failed;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "." : own.parent_path().string();
}

}  // namespace inferflux::collective
