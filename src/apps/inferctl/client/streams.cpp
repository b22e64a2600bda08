#include "apps/inferctl/client/streams.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <istream>

#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace {

constexpr size_t kMaxInputBytes = size_t{64} << 20;

Result<std::string> ReadAll(std::istream& in, const std::string& name) {
  std::string out;
  std::array<char, 65536> piece{};
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    out.append(piece.data(), static_cast<size_t>(in.gcount()));
    if (out.size() > kMaxInputBytes)
      return Fail(ErrorCode::kInvalidArgument, "{} has more than {} bytes", name, kMaxInputBytes);
  }
  if (in.bad()) return Fail(ErrorCode::kIo, "cannot read {}", name);
  return out;
}

}  // namespace

Result<std::string> TextOf(const std::string& word) {
  if (word != "-") return word;
  return ReadAll(std::cin, "standard input");
}

Result<std::string> ContentsOf(const std::string& path) {
  if (path == "-") return ReadAll(std::cin, "standard input");
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(ErrorCode::kNotFound, "cannot read {}: {}", path, std::strerror(errno));
  return ReadAll(file, path);
}

bool InputIsPiped() { return ::isatty(STDIN_FILENO) == 0; }

int PrintJson(const boost::json::value& value) {
  fmt::print("{}\n", boost::json::serialize(value));
  return std::fflush(stdout) == 0 ? kOk : Complain("cannot write to standard output");
}

}  // namespace inferflux::apps
