// What happens when a mapped file loses bytes while it is used. The operating system sends SIGBUS to a thread that
// reads a page of a file that has been truncated, and that would end the process. Here the page, and all behind it,
// become zeros, and the file is remembered: who computed with it asks, and fails alone.
//
// A signal is a matter of the whole process, so this is one of the few things that are global. The handler calls only
// mmap and atomic operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux {

// A range of a file in memory that the handler mends, until the object is destroyed.
class GuardedRange {
 public:
  // Installs the handler with the first range. `path` is that by which users know the file.
  GuardedRange(const std::byte* data, size_t size, std::string path);
  ~GuardedRange();
  GuardedRange(const GuardedRange&) = delete;
  GuardedRange& operator=(const GuardedRange&) = delete;

 private:
  int slot_;  // -1: too many ranges; this one is not guarded
};

// Guards what this process has mapped of the file: for libraries that map files themselves. Linux only; elsewhere none.
std::vector<std::unique_ptr<GuardedRange>> GuardMappingsOf(const std::string& path);

// How often a file was mended since the program began. Any thread; costs one load.
uint64_t FileFaults();

// A file at or below `path` (a file or a folder) that was mended since FileFaults() was `since`; empty if none was. Any
// thread.
std::string FaultedFile(std::string_view path, uint64_t since);

}  // namespace inferflux
