#include "apps/inferctl/client/local_server.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "net/client.h"

namespace inferflux::apps {
namespace {

constexpr std::chrono::seconds kStartTime{60};
constexpr std::chrono::milliseconds kPollTime{50};

Result<std::string> ServerProgram() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = self.parent_path() / "inferfluxd";
  if (error || !std::filesystem::exists(program, error)) {
    return Fail(ErrorCode::kNotFound,
                "there is no inferfluxd beside inferctl to start; start a server, or name one with --url");
  }
  return program.string();
}

// Creates an empty file that only this user can read; the server replaces it.
Result<std::string> MakePortFile() {
  std::string name = (std::filesystem::temp_directory_path() / "inferctl-XXXXXX").string();
  const int fd = ::mkstemp(name.data());
  if (fd < 0) return Fail(ErrorCode::kIo, "cannot make a temporary file {}", name);
  ::close(fd);
  return name;
}

}  // namespace

Result<std::unique_ptr<LocalServer>> LocalServer::Start() {
  auto program = ServerProgram();
  if (!program) return Forward(program);
  auto port_file = MakePortFile();
  if (!port_file) return Forward(port_file);

  std::array<std::string, 7> words = {*program, "--port", "0", "--port-file", *port_file, "--log-level", "warning"};
  std::array<char*, 8> arguments{};
  for (size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Fail(ErrorCode::kIo, "cannot start {}", *program);
  if (pid == 0) {
    ::setpgid(0, 0);                     // Ctrl-C must reach the chat, not its server
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // the server ends with this program, however it ends
    if (::getppid() == parent) ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  std::unique_ptr<LocalServer> out(new LocalServer(pid, std::move(*port_file)));
  if (Status ready = out->AwaitReady(); !ready) return Forward(ready);
  return out;
}

LocalServer::~LocalServer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove(port_file_, ignored);
}

bool LocalServer::Ended() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

Status LocalServer::AwaitReady() {
  const auto until = std::chrono::steady_clock::now() + kStartTime;
  while (std::chrono::steady_clock::now() < until) {
    if (Ended()) return Fail(ErrorCode::kUnavailable, "the server ended while it started; its messages are above");
    if (url_.empty()) std::getline(std::ifstream(port_file_), url_);
    if (auto address = net::ParseServerAddress(url_); address && !url_.empty()) {
      const auto ready = net::Client(std::move(*address)).Send({.target = "/readyz"});
      if (ready && ready->status == 200) return {};
    }
    std::this_thread::sleep_for(kPollTime);
  }
  return Fail(ErrorCode::kUnavailable, "the server was not ready within {} seconds", kStartTime.count());
}

}  // namespace inferflux::apps
