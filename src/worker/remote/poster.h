// Runs work on the thread of an io_context, for as long as that accepts any: streams and their clients may live longer.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <utility>

namespace inferflux::worker {

class Poster {
 public:
  explicit Poster(boost::asio::io_context& io) : io_(&io) {}

  // False after Close: the work is dropped.
  template <class Work>
  bool Post(Work work) {
    const std::lock_guard lock(mutex_);
    if (io_ == nullptr) return false;
    boost::asio::post(*io_, std::move(work));
    return true;
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  boost::asio::io_context* io_;
};

}  // namespace inferflux::worker
