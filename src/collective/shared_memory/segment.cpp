#include "collective/shared_memory/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

#include "collective/shared_memory/waiting.h"

namespace inferflux::collective {
namespace {

constexpr uint64_t kMagic = 0x31736b6e61724649;  // "IFranks1"
constexpr size_t kMostReason = 480;
constexpr uint64_t kMostSlotBytes = uint64_t{1} << 30;

struct alignas(64) Header {
  uint64_t magic;
  int32_t ranks;
  uint64_t slot_bytes;
  // 0: none, 1: being written, 2: written
  std::atomic<uint32_t> failure;
  ErrorCode code;
  char reason[kMostReason];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<int32_t>::is_always_lock_free);

size_t ChannelsAt(size_t ranks) { return sizeof(Header) + ranks * sizeof(SharedRank); }
size_t SlotsAt(size_t ranks) { return ChannelsAt(ranks) + ranks * ranks * sizeof(SharedChannel); }
size_t TotalBytes(size_t ranks, size_t slot_bytes) { return SlotsAt(ranks) + (2 * ranks + ranks * ranks) * slot_bytes; }

int OpenMemory() {
#ifdef __linux__
  return ::memfd_create("inferflux-ranks", MFD_CLOEXEC);
#else
  const std::string name = fmt::format("/inferflux-{}", ::getpid());
  const int descriptor = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (descriptor >= 0) ::shm_unlink(name.c_str());
  return descriptor;
#endif
}

}  // namespace

Result<std::shared_ptr<Segment>> Segment::Create(int32_t ranks, int64_t slot_bytes) {
  if (auto valid = CheckRank(0, ranks); !valid) return Forward(valid);
  if (slot_bytes < 64 || slot_bytes > static_cast<int64_t>(kMostSlotBytes) || slot_bytes % 64 != 0) {
    return Fail(ErrorCode::kInvalidArgument, "slots of {} bytes: they must be a multiple of 64, at most {}", slot_bytes,
                kMostSlotBytes);
  }
  const size_t bytes = TotalBytes(static_cast<size_t>(ranks), static_cast<size_t>(slot_bytes));
  const int descriptor = OpenMemory();
  if (descriptor < 0) return Fail(ErrorCode::kIo, "cannot make shared memory for ranks: {}", std::strerror(errno));
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    const int why = errno;
    ::close(descriptor);
    return Fail(ErrorCode::kIo, "cannot make {} bytes of shared memory for ranks: {}", bytes, std::strerror(why));
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    const int why = errno;
    ::close(descriptor);
    return Fail(ErrorCode::kIo, "cannot map {} bytes of shared memory: {}", bytes, std::strerror(why));
  }
  // New memory is all zeros, which is what every other member begins with.
  auto* header = new (memory) Header{.magic = kMagic, .ranks = ranks, .slot_bytes = static_cast<uint64_t>(slot_bytes)};
  header->failure.store(0);
  return std::shared_ptr<Segment>(new Segment(descriptor, memory, bytes, ranks, static_cast<size_t>(slot_bytes)));
}

Result<std::shared_ptr<Segment>> Segment::Open(int descriptor, int32_t ranks) {
  if (auto valid = CheckRank(0, ranks); !valid) return Forward(valid);
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) {
    return Fail(ErrorCode::kIo, "cannot read descriptor {}: {}", descriptor, std::strerror(errno));
  }
  Header header{};
  if (::pread(descriptor, &header, sizeof(header), 0) != sizeof(header) || header.magic != kMagic) {
    return Fail(ErrorCode::kDataLoss, "descriptor {} has no shared memory of ranks", descriptor);
  }
  if (header.ranks != ranks) {
    return Fail(ErrorCode::kInvalidArgument, "the shared memory is of {} ranks, and this one was started as one of {}",
                header.ranks, ranks);
  }
  if (header.slot_bytes > kMostSlotBytes ||
      static_cast<uint64_t>(found.st_size) != TotalBytes(static_cast<size_t>(ranks), header.slot_bytes)) {
    return Fail(ErrorCode::kDataLoss, "the shared memory has {} bytes, not what {} ranks need", found.st_size, ranks);
  }
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  void* memory = own < 0
                     ? MAP_FAILED
                     : ::mmap(nullptr, static_cast<size_t>(found.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
  if (memory == MAP_FAILED) {
    const int why = errno;
    if (own >= 0) ::close(own);
    return Fail(ErrorCode::kIo, "cannot map {} bytes of shared memory: {}", found.st_size, std::strerror(why));
  }
  return std::shared_ptr<Segment>(
      new Segment(own, memory, static_cast<size_t>(found.st_size), ranks, header.slot_bytes));
}

Segment::~Segment() {
  ::munmap(memory_, bytes_);
  ::close(descriptor_);
}

SharedRank& Segment::rank(int32_t rank) const {
  return *reinterpret_cast<SharedRank*>(memory_ + sizeof(Header) + static_cast<size_t>(rank) * sizeof(SharedRank));
}

SharedChannel& Segment::channel(int32_t from, int32_t to) const {
  const auto index = static_cast<size_t>(from * ranks_ + to);
  return *reinterpret_cast<SharedChannel*>(memory_ + ChannelsAt(static_cast<size_t>(ranks_)) +
                                           index * sizeof(SharedChannel));
}

std::span<std::byte> Segment::slot(int32_t rank, uint32_t parity) const {
  const auto index = static_cast<size_t>(2 * rank) + parity;
  return {memory_ + SlotsAt(static_cast<size_t>(ranks_)) + index * slot_bytes_, slot_bytes_};
}

std::span<std::byte> Segment::mailbox(int32_t from, int32_t to) const {
  const auto index = static_cast<size_t>(2 * ranks_ + from * ranks_ + to);
  return {memory_ + SlotsAt(static_cast<size_t>(ranks_)) + index * slot_bytes_, slot_bytes_};
}

void Segment::SetFailed(const Error& why) {
  auto& header = *reinterpret_cast<Header*>(memory_);
  uint32_t none = 0;
  if (!header.failure.compare_exchange_strong(none, 1)) return;
  header.code = why.code;
  const size_t length = std::min(why.message.size(), kMostReason - 1);
  std::memcpy(header.reason, why.message.data(), length);
  header.reason[length] = '\0';
  header.failure.store(2);
  for (int32_t each = 0; each < ranks_; ++each) {
    WakeAll(rank(each).published);
    for (int32_t to = 0; to < ranks_; ++to) {
      WakeAll(channel(each, to).sent);
      WakeAll(channel(each, to).taken);
    }
  }
}

Status Segment::failed() const {
  const auto& header = *reinterpret_cast<const Header*>(memory_);
  if (header.failure.load(std::memory_order_acquire) != 2) return {};
  return tl::make_unexpected(Error{header.code, std::string(header.reason, ::strnlen(header.reason, kMostReason))});
}

}  // namespace inferflux::collective
