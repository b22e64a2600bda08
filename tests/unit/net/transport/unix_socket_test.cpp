// A server that listens on a Unix socket beside its port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "net/test_server.h"
#include "net/transport/unix_socket.h"

namespace inferflux::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::StartsWith;

class UnixSocketTest : public ::testing::Test {
 protected:
  UnixSocketTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~UnixSocketTest() override { fs::remove_all(folder_); }

  static sockaddr_un AddressOf(const std::string& path) {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    std::memcpy(out.sun_path, path.c_str(), path.size());
    return out;
  }
  // What a server there answers to one request.
  static std::string Ask(const std::string& path) {
    const int client = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un to = AddressOf(path);
    std::string out;
    if (::connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      const std::string request = "GET /peer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
      EXPECT_EQ(::send(client, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
      char piece[4096];
      for (ssize_t got = 0; (got = ::recv(client, piece, sizeof piece, 0)) > 0;)
        out.append(piece, static_cast<size_t>(got));
    }
    ::close(client);
    return out;
  }
  static Result<std::unique_ptr<net::Server>> Start(const std::string& path) {
    net::Router router;
    router.Add("GET", "/peer", [](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
      co_await writer.Send({200, "text/plain", request.peer});
    });
    net::ServerOptions options;
    options.unix_socket = path;
    return net::Server::Start(std::move(options), std::move(router));
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("u" + std::to_string(::getpid()));
  const std::string path_ = (folder_ / "s").string();
};

TEST_F(UnixSocketTest, ServesAndIsGoneWithItsServer) {
  {
    const auto server = Start(path_);
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_THAT(Ask(path_), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(Ask(path_), EndsWith("\r\n\r\nunix"));
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0660u);
    const auto second = Start(path_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(second.error().message, "server.unix_socket " + path_ + ": another server answers there");
    EXPECT_THAT(Ask(path_), EndsWith("\r\n\r\nunix")) << "the first one goes on";
  }
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(UnixSocketTest, TakesThePlaceOfOneWhoseServerHasEnded) {
  const int old = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un address = AddressOf(path_);
  ASSERT_EQ(::bind(old, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(old);
  ASSERT_TRUE(fs::exists(path_));
  const auto server = Start(path_);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_THAT(Ask(path_), EndsWith("\r\n\r\nunix"));
}

TEST_F(UnixSocketTest, LookingForAServerLeavesNothingOpen) {
  const auto open = [] {
    using Entries = fs::directory_iterator;
    return std::distance(Entries("/proc/self/fd"), Entries());
  };
  const int other = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un address = AddressOf(path_);
  ASSERT_EQ(::bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(other, 4), 0);
  const auto before = open();
  EXPECT_FALSE(net::MakeWayForUnixSocket(path_)) << "a server answers there";
  EXPECT_EQ(open(), before);
  ::close(other);
  EXPECT_TRUE(net::MakeWayForUnixSocket(path_));
  EXPECT_EQ(open(), before - 1);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(UnixSocketTest, LeavesAFileThatIsNoSocket) {
  std::ofstream(path_) << "text";
  const auto server = Start(path_);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(server.error().message, "server.unix_socket " + path_ + ": there is a file that is not a socket");
  EXPECT_TRUE(fs::exists(path_));
  const auto lost = Start((folder_ / "none" / "s").string());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kIo);
  EXPECT_THAT(lost.error().message,
              StartsWith("cannot listen on server.unix_socket " + (folder_ / "none" / "s").string() + ": "));
}

TEST_F(UnixSocketTest, HasAPathThatTheSystemCanTake) {
  constexpr size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  const std::string longest = path_ + std::string(kMost - path_.size(), 'x');
  EXPECT_TRUE(net::MakeWayForUnixSocket(longest));
  const Status refused = net::MakeWayForUnixSocket(longest + "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "server.unix_socket " + longest + "x: the path of a socket has at most " +
                                         std::to_string(kMost) + " bytes");
}

}  // namespace
}  // namespace inferflux::testing
