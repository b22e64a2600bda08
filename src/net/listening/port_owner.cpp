#include "net/listening/port_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace inferflux::net {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kListening = "0A";  // TCP_LISTEN in the column `st`

// The inodes of the sockets that listen on the port, by a table of proc(5): /proc/net/tcp or tcp6. The second word of a
// row is ADDRESS:PORT in hexadecimal, the fourth the state, the tenth the inode.
void AddListeners(const char* table, uint16_t port, std::vector<std::string>& inodes) {
  std::ifstream file(table);
  const std::string ending = fmt::format(":{:04X}", port);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string slot, local, remote, state, word, inode;
    words >> slot >> local >> remote >> state >> word >> word >> word >> word >> word >> inode;
    if (local.ends_with(ending) && state == kListening) inodes.push_back("socket:[" + inode + "]");
  }
}

bool Holds(const fs::path& process, const std::vector<std::string>& sockets) {
  std::error_code error;  // another user's descriptors cannot be read
  for (fs::directory_iterator open(process / "fd", error), end; !error && open != end; open.increment(error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(open->path(), gone).string();
    if (std::ranges::find(sockets, target) != sockets.end()) return true;
  }
  return false;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::string DescribePortOwner(uint16_t port) {
  std::vector<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) AddListeners(table, port, sockets);
  if (sockets.empty()) return "another process";
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end; process.increment(error)) {
    const std::string id = process->path().filename().string();
    if (!IsNumber(id) || !Holds(process->path(), sockets)) continue;
    std::string name;
    std::ifstream comm(process->path() / "comm");
    if (!std::getline(comm, name)) name = "a program";
    return fmt::format("{} (process {})", name, id);
  }
  return "another process";
}

}  // namespace inferflux::net
