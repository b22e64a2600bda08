#include "worker/pool/worker_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace inferflux::worker {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return Fail(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return Pipe{ends[0], ends[1]};
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// In the child, where only async-signal-safe calls are allowed.
struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int log;
  int secret;
  bool secret_on_input;
  pid_t parent;
  const std::vector<int>* cores;
};

[[noreturn]] void BecomeWorker(const ChildPlan& plan) {
  ::setpgid(0, 0);  // Ctrl-C in the pool's terminal is for the pool, which drains its workers
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != plan.parent) ::_exit(127);
  if (!plan.cores->empty()) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int core : *plan.cores) CPU_SET(core, &mask);
    ::sched_setaffinity(0, sizeof mask, &mask);
  }
#endif
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  // The secret may have any number below 4 already; move both out of the way first.
  const int log = ::fcntl(plan.log, F_DUPFD, 10);
  const int secret = ::fcntl(plan.secret, F_DUPFD, 10);
  ::dup2(plan.secret_on_input ? secret : nothing, 0);
  ::dup2(log, 1);
  ::dup2(log, 2);
  ::dup2(secret, 3);
  // Sockets of the pool must not stay open in a worker.
#ifdef __linux__
  ::close_range(4, ~0U, 0);
#else
  for (int each = 4; each < 4096; ++each) ::close(each);
#endif
  ::execve(plan.program, plan.arguments, plan.environment);
  ::_exit(127);
}

}  // namespace

Result<WorkerProcess> WorkerProcess::Start(const ProcessOptions& options) {
  if (::access(options.program.c_str(), X_OK) != 0) {
    return Fail(ErrorCode::kNotFound, "cannot run {}: {}", options.program, std::strerror(errno));
  }
  auto log = MakePipe();
  if (!log) return Forward(log);
  auto secret = MakePipe();
  if (!secret) {
    ::close(log->read);
    ::close(log->write);
    return Forward(secret);
  }
  // A token is far smaller than a pipe's buffer, so this does not block.
  const std::string line = options.secret + "\n";
  const bool told = ::write(secret->write, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(secret->write);
  std::vector<std::string> words{options.program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  const auto arguments = Pointers(words);
  const auto environment = Pointers(options.environment);
  const ChildPlan plan{.program = options.program.c_str(),
                       .arguments = arguments.data(),
                       .environment = environment.data(),
                       .log = log->write,
                       .secret = secret->read,
                       .secret_on_input = options.secret_on_input,
                       .parent = ::getpid(),
                       .cores = &options.cores};
  const pid_t pid = told ? ::fork() : -1;
  if (pid == 0) BecomeWorker(plan);
  ::close(log->write);
  ::close(secret->read);
  if (pid < 0) {
    ::close(log->read);
    return Fail(ErrorCode::kIo, "cannot start {}: {}", options.program, std::strerror(errno));
  }
  return WorkerProcess(pid, log->read);
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), log_(std::exchange(other.log_, -1)), ended_(std::move(other.ended_)) {}

WorkerProcess::~WorkerProcess() {
  if (log_ >= 0) ::close(log_);
  if (pid_ <= 0 || Ended()) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

int WorkerProcess::TakeLog() { return std::exchange(log_, -1); }

void WorkerProcess::Signal(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

std::optional<std::string> WorkerProcess::Ended() {
  if (ended_) return ended_;
  int status = 0;
  const pid_t got = ::waitpid(pid_, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return std::nullopt;
  if (got < 0) {
    ended_ = "lost";
  } else if (WIFSIGNALED(status)) {
    ended_ = fmt::format("signal {}", WTERMSIG(status));
  } else {
    ended_ = fmt::format("exit code {}", WEXITSTATUS(status));
  }
  return ended_;
}

std::vector<std::string> EnvironmentForWorkers() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("INFERFLUX_") && !text.starts_with("INFERFLUX_CPU_ISA=")) continue;
    out.emplace_back(text);
  }
  return out;
}

}  // namespace inferflux::worker
