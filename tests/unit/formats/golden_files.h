// The files under tests/data, as bytes.
#pragma once

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace inferflux::testing {

inline std::vector<std::byte> ReadGolden(const std::string& name) {
  std::ifstream in(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/" + name, std::ios::binary | std::ios::ate);
  if (!in) throw std::runtime_error("tests/data/" + name + " is missing");
  std::vector<std::byte> bytes(static_cast<size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

}  // namespace inferflux::testing
