// The few declarations of NCCL's C interface that are used here, as nccl.h has them (checked with 2.32.3), so that no
// NCCL is needed to build.
#pragma once

#include <climits>
#include <cstddef>

namespace inferflux::cuda::nccl_api {

using Comm = void*;    // ncclComm_t
using Stream = void*;  // cudaStream_t

enum Code : int { kSuccess = 0, kInProgress = 7 };
enum DataType : int { kFloat32 = 7 };
enum Operation : int { kSum = 0, kMax = 2 };

struct UniqueId {
  char internal[128];
};

// ncclConfig_t as of 2.18.1; later libraries take older ones by their size and version.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21801;
  int blocking = 0;  // calls return at once, and GetAsyncError tells when they are done
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
};

using GetVersion = int(int*);
using GetUniqueId = int(UniqueId*);
using GetErrorString = const char*(int);
using GetLastError = const char*(Comm);
using CommInitRankConfig = int(Comm*, int, UniqueId, int, Config*);
using CommDestroy = int(Comm);
using CommAbort = int(Comm);
using CommGetAsyncError = int(Comm, int*);
using CommCount = int(Comm, int*);
using AllReduce = int(const void*, void*, size_t, int, int, Comm, Stream);
using AllGather = int(const void*, void*, size_t, int, Comm, Stream);
using Broadcast = int(const void*, void*, size_t, int, int, Comm, Stream);
using Send = int(const void*, size_t, int, int, Comm, Stream);
using Recv = int(void*, size_t, int, int, Comm, Stream);

}  // namespace inferflux::cuda::nccl_api
