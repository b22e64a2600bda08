// NCCL's functions, in a library of their own, which record how they are called.
#include "stub_library.h"

#include <cstddef>
#include <cstring>

namespace {

inferflux::cuda::NcclStub stub;
int communicator = 0;

struct Id {
  char internal[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

constexpr int kInProgress = 7, kInvalidArgument = 4;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
inferflux::cuda::NcclStub* inferfluxNcclStub() { return &stub; }

int ncclGetVersion(int* version) {
  *version = stub.version;
  return 0;
}
int ncclGetUniqueId(Id* id) {
  std::memcpy(id->internal, "the id of a test", 17);
  return 0;
}
const char* ncclGetErrorString(int code) { return code == 6 ? "remote error" : "another error"; }
const char* ncclGetLastError(void*) { return "rank 1 is gone"; }
int ncclCommInitRankConfig(void** comm, int size, Id id, int rank, Config* config) {
  if (size != 2 || rank != 1 || config->magic != 0xcafebeef || config->size < 40) return kInvalidArgument;
  stub.blocking = config->blocking;
  std::memcpy(stub.id, id.internal, sizeof(stub.id));
  *comm = &communicator;
  return stub.join;
}
int ncclCommDestroy(void*) { return ++stub.destroyed, 0; }
int ncclCommAbort(void*) { return ++stub.aborted, 0; }
int ncclCommGetAsyncError(void*, int* state) {
  ++stub.asked;
  *state = stub.answers_in_progress > 0 ? kInProgress : stub.state;
  if (stub.answers_in_progress > 0) --stub.answers_in_progress;
  return 0;
}
int ncclCommCount(void*, int* count) {
  *count = stub.size;
  return 0;
}
int ncclAllReduce(const void*, void*, size_t count, int type, int operation, void* comm, void*) {
  if (comm != &communicator) return kInvalidArgument;
  ++stub.reduced;
  stub.count = count;
  stub.type = type;
  stub.operation = operation;
  return stub.answers_in_progress > 0 ? kInProgress : 0;
}
int ncclAllGather(const void*, void*, size_t, int, void*, void*) { return 0; }
int ncclBroadcast(const void*, void*, size_t, int, int, void*, void*) { return 0; }
int ncclSend(const void*, size_t, int, int, void*, void*) { return 0; }
int ncclRecv(void*, size_t, int, int, void*, void*) { return 0; }
}
#pragma GCC visibility pop
