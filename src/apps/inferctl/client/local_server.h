// A private server for users without a running server: inferfluxd as a child process, with the bundled model.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace inferflux::apps {

class LocalServer {
 public:
  // Starts the inferfluxd beside this program on a free port and waits until it is ready.
  static Result<std::unique_ptr<LocalServer>> Start();
  ~LocalServer();  // stops the server and waits for its exit
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  const std::string& url() const { return url_; }

 private:
  LocalServer(pid_t pid, std::string port_file) : pid_(pid), port_file_(std::move(port_file)) {}
  Status AwaitReady();
  bool Ended();

  pid_t pid_;  // -1: it has exited
  std::string port_file_;
  std::string url_;
};

}  // namespace inferflux::apps
