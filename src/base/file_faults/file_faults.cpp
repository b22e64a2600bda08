#include "base/file_faults/file_faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

namespace inferflux {
namespace {

constexpr size_t kMaxRanges = 4096;  // a model of many parts has some hundred

struct Slot {
  std::atomic<uintptr_t> begin{0};  // 0: free
  std::atomic<uintptr_t> end{0};
  std::atomic<uint64_t> fault{0};  // the number of its last fault; 0: none
};

struct Ranges {
  std::array<Slot, kMaxRanges> slots;
  std::atomic<uint64_t> faults{0};
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction before {};

  std::mutex mutex;  // the handler never takes it; guards what follows
  std::array<std::string, kMaxRanges> paths;
  std::vector<std::pair<std::string, uint64_t>> faulted_before;  // of ranges that are gone: path, last fault
  bool installed = false;
};

Ranges& All() {
  static Ranges* const all = new Ranges;  // never destroyed: a late thread may still fault
  return *all;
}

// Replaces what is behind the faulting page too: the file ends before it, and each page would fault by itself.
bool Mend(uintptr_t address) {
  const uintptr_t first = address & ~(All().page - 1);
  for (Slot& slot : All().slots) {
    const uintptr_t begin = slot.begin.load();
    const uintptr_t end = slot.end.load();
    if (begin == 0 || address < begin || address >= end) continue;
    void* zeros = ::mmap(reinterpret_cast<void*>(first), end - first, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) return false;
    slot.fault.store(All().faults.fetch_add(1) + 1);
    return true;
  }
  return false;
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  if (info->si_code == BUS_ADRERR && Mend(reinterpret_cast<uintptr_t>(info->si_addr))) return;
  // No page of ours: what was there before decides, which is usually the end of the process.
  const struct sigaction& before = All().before;
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(signal, info, context);
  } else {
    ::sigaction(signal, &before, nullptr);  // the instruction faults again
  }
}

void Install(Ranges& all) {
  if (std::exchange(all.installed, true)) return;
  struct sigaction action {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &all.before);
}

// "model-00001-of-00003.gguf" and "model-00002-of-00003.gguf" are parts of one model.
std::string_view WithoutPart(std::string_view path) {
  const size_t of = path.rfind("-of-");
  return of == std::string_view::npos || of < 6 ? path : path.substr(0, of - 6);
}

bool IsAtOrBelow(std::string_view file, std::string_view path) {
  if (const std::string_view stem = WithoutPart(path); stem != path && stem == WithoutPart(file)) return true;
  if (path.ends_with('/')) path.remove_suffix(1);
  return file == path || (file.starts_with(path) && file.size() > path.size() && file[path.size()] == '/');
}

}  // namespace

GuardedRange::GuardedRange(const std::byte* data, size_t size, std::string path) : slot_(-1) {
  Ranges& all = All();
  const std::lock_guard lock(all.mutex);
  Install(all);
  for (size_t i = 0; i < kMaxRanges; ++i) {
    Slot& slot = all.slots[i];
    if (slot.begin.load() != 0) continue;
    slot.fault.store(0);
    slot.end.store(reinterpret_cast<uintptr_t>(data) + size);
    slot.begin.store(reinterpret_cast<uintptr_t>(data));  // last: from here on the handler sees the slot
    all.paths[i] = std::move(path);
    slot_ = static_cast<int>(i);
    return;
  }
}

GuardedRange::~GuardedRange() {
  if (slot_ < 0) return;
  Ranges& all = All();
  const std::lock_guard lock(all.mutex);
  Slot& slot = all.slots[static_cast<size_t>(slot_)];
  slot.begin.store(0);
  slot.end.store(0);
  std::string path = std::exchange(all.paths[static_cast<size_t>(slot_)], {});
  const uint64_t fault = slot.fault.exchange(0);
  if (fault != 0) all.faulted_before.emplace_back(std::move(path), fault);
}

std::vector<std::unique_ptr<GuardedRange>> GuardMappingsOf(const std::string& path) {
  std::vector<std::unique_ptr<GuardedRange>> out;
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return out;
  const std::string wanted = real;
  std::free(real);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t name = line.find('/');
    unsigned long long begin = 0;
    unsigned long long end = 0;
    if (name == std::string::npos || line.compare(name, std::string::npos, wanted) != 0) continue;
    if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2 || end <= begin) continue;
    out.push_back(std::make_unique<GuardedRange>(reinterpret_cast<const std::byte*>(begin), end - begin, path));
  }
  return out;
}

uint64_t FileFaults() { return All().faults.load(std::memory_order_relaxed); }

std::string FaultedFile(std::string_view path, uint64_t since) {
  Ranges& all = All();
  const std::lock_guard lock(all.mutex);
  for (size_t i = 0; i < kMaxRanges; ++i) {
    if (all.slots[i].fault.load() > since && IsAtOrBelow(all.paths[i], path)) return all.paths[i];
  }
  for (const auto& [file, fault] : all.faulted_before) {
    if (fault > since && IsAtOrBelow(file, path)) return file;
  }
  return {};
}

}  // namespace inferflux
