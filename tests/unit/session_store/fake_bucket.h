// An object store in this process: what it is asked, and what it answers.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/server.h"

namespace inferflux::session_store {

class FakeBucket {
 public:
  FakeBucket() {
    net::Router routes;
    for (const char* method : {"PUT", "GET", "DELETE"}) {
      routes.Add(method, "/{key...}",
                 [this](const net::Request& request, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
                   net::Response answer = Answer(request);
                   co_await writer.Send(std::move(answer));
                 });
    }
    auto started = net::Server::Start({}, std::move(routes));
    EXPECT_TRUE(started.has_value());
    if (started) server_ = std::move(*started);
  }

  int port() const { return server_->port(); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port()); }

  // In place of what it would do.
  void AlwaysAnswer(int status, std::string body = {}) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    body_ = std::move(body);
  }
  std::map<std::string, std::string> objects() const {
    const std::lock_guard lock(mutex_);
    return objects_;
  }
  std::vector<net::Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  net::Response Answer(const net::Request& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    if (status_ != 0) return {status_, "application/xml", body_};
    if (request.method == "PUT") {
      objects_[request.path] = request.body;
      return {200, "application/xml"};
    }
    const auto found = objects_.find(request.path);
    if (request.method == "DELETE") {
      if (found != objects_.end()) objects_.erase(found);
      return {204, "application/xml"};
    }
    if (found == objects_.end()) return {404, "application/xml", "<Error><Code>NoSuchKey</Code></Error>"};
    return {200, "application/octet-stream", found->second};
  }

  mutable std::mutex mutex_;
  int status_ = 0;
  std::string body_;
  std::map<std::string, std::string> objects_;
  std::vector<net::Request> requests_;
  std::unique_ptr<net::Server> server_;  // last: ends first
};

}  // namespace inferflux::session_store
