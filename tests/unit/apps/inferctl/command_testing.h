// A command of inferctl in this process, against a server with written answers: what it sends, prints and returns.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferctl/command.h"
#include "config/resolve.h"
#include "net/http_message.h"
#include "net/server.h"

namespace inferflux::apps {

using Answers = std::map<std::string, std::string>;  // by "METHOD /path"

// Answers "METHOD /path" with its text, and anything else with 404 and an error; keeps what was asked.
class ScriptedServer {
 public:
  explicit ScriptedServer(Answers answers) : answers_(std::move(answers)) {
    net::Router router;
    for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
      router.Add(method, "/{rest...}",
                 [this](const net::Request& request, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
                   net::Response answer = AnswerTo(request);
                   co_await writer.Send(std::move(answer));
                 });
    }
    auto started = net::Server::Start({}, std::move(router));
    EXPECT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", server_->port()); }
  // "METHOD /path?name=value body", of each request since the last call.
  std::vector<std::string> TakeAsked() {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_, {});
  }

 private:
  net::Response AnswerTo(const net::Request& request) {
    const std::lock_guard lock(mutex_);
    std::string line = request.method + " " + request.path;
    const auto found = answers_.find(line);
    for (const auto& [name, value] : request.query) line += "?" + name + "=" + value;
    asked_.push_back(request.body.empty() ? line : line + " " + request.body);
    if (found == answers_.end()) return net::Response(404, "application/json", R"({"error":{"message":"no"}})");
    return net::Response(200, "application/json", found->second);
  }

  const Answers answers_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::unique_ptr<net::Server> server_;  // last: it ends before what it reports to
};

// What a command makes of the 404.
inline constexpr char kRefused[] = "|inferctl: the server says (404): no\n|1";

struct Call {
  std::string url = {};
  bool json = false;
  bool url_is_flag = false;
  bool url_is_default = false;
  config::Environment environment = {};
  std::string input = {};  // on standard input
};

// Standard output, "|", standard error, "|", and the exit code.
inline std::string Called(Run (*add)(Command&), const std::vector<std::string>& words, Call call = {}) {
  CommandLine line("inferctl", "asks");
  const Run run = add(line);
  const auto parsed = line.Parse(words);
  if (!parsed) return parsed.error().message;
  if (!call.url.empty()) call.environment["INFERFLUX_CLIENT_URL"] = call.url;
  const auto settings = config::Resolve({}, call.environment);
  EXPECT_TRUE(settings) << settings.error().message;
  std::istringstream input(call.input);
  std::streambuf* const usual = std::cin.rdbuf(input.rdbuf());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = run({.settings = *settings,
                        .url_is_default = call.url_is_default,
                        .url_is_flag = call.url_is_flag,
                        .json = call.json});
  const std::string out = ::testing::internal::GetCapturedStdout();
  const std::string err = ::testing::internal::GetCapturedStderr();
  std::cin.rdbuf(usual);
  std::cin.clear();
  return fmt::format("{}|{}|{}", out, err, code);
}

}  // namespace inferflux::apps
