// What the backend asks of CUDA's runtime and of cuBLASLt, as one small interface: cuda_runtime.cu hands it on to CUDA,
// host_runtime.cpp does it on the host, in random order and stricter.
//
// Calls that name a stream are asynchronous: they return before their work is done, and host memory that they name has
// to live, unchanged, until the stream was waited for. An error in a stream is an error of every later call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace inferflux::cuda {

// Handles; the runtime that made them owns what they name.
struct Stream {
  void* native = nullptr;
};
struct Event {
  void* native = nullptr;
};
struct Graph {
  void* native = nullptr;
};

struct DeviceProperties {
  std::string name;
  bool gpu = true;
  int compute_capability = 0;  // 90 for sm_90
  int multiprocessors = 0;
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
  int64_t shared_bytes = 0;      // that a block may have, with the opt-in
  std::string uuid = {};         // as NVIDIA's tools print it; empty: unknown
  std::string pci_address = {};  // "0000:c1:00.0"; empty: not on a PCI bus
};

enum class ElementType { kF32, kF16, kBf16, kFp8 };  // kFp8: e4m3

constexpr int64_t ElementBytes(ElementType type) {
  return type == ElementType::kF32 ? 4 : type == ElementType::kFp8 ? 1 : 2;
}

// D = alpha * scale_a * scale_b * op(A) * op(B) + beta * D + bias, as cuBLASLt's cublasLtMatmul: all matrices are
// column-major, element (row, column) of X at x[row + column * ldx].
struct MatMulParams {
  int64_t m = 0, n = 0, k = 0;  // D: m x n, op(A): m x k, op(B): k x n
  ElementType a_type = ElementType::kBf16, b_type = ElementType::kBf16, d_type = ElementType::kBf16;
  bool transpose_a = false, transpose_b = false;
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  int64_t lda = 0, ldb = 0, ldd = 0;  // in elements, at least the rows of the matrix as it is stored
  float alpha = 1.0f, beta = 0.0f;
  const float* scale_a = nullptr;  // device pointers to one float each; only with FP8
  const float* scale_b = nullptr;
  const void* bias = nullptr;  // m elements of D's type, added to each column
};

// What cuBLASLt's documentation requires of the descriptors; both runtimes refuse the same.
Status CheckMatMul(const MatMulParams& params);

// The number of columns of op(B), which are a step's rows, that a product's algorithm is chosen for. Products with the
// same one have the same algorithm, so that a step and the same step with rows that fill it up have the same bits.
int64_t ColumnsOfAlgorithm(int64_t n);

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual Result<DeviceProperties> Properties() = 0;
  virtual Result<bool> CanAccessPeer(int device) = 0;

  // --- memory; none of these may be called while a stream captures ---
  virtual Result<void*> Allocate(size_t bytes) = 0;  // 256-byte aligned, uninitialised
  virtual Status Free(void* at) = 0;
  virtual Result<void*> AllocatePinned(size_t bytes) = 0;  // of the host, for copies
  virtual Status FreePinned(void* at) = 0;

  virtual Status CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual Status CopyToHost(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual Status CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual Status Fill(void* to, uint8_t value, size_t bytes, Stream stream) = 0;

  // --- order ---
  virtual Result<Stream> CreateStream() = 0;
  virtual Status Destroy(Stream stream) = 0;  // waits for its work
  virtual Status Synchronize(Stream stream) = 0;
  virtual Result<Event> CreateEvent() = 0;
  virtual Status Destroy(Event event) = 0;
  virtual Status Record(Event event, Stream stream) = 0;
  virtual Status Wait(Stream stream, Event event) = 0;  // what follows on the stream waits for the last record
  virtual Status Synchronize(Event event) = 0;
  virtual Result<float> Milliseconds(Event from, Event to) = 0;  // both have happened

  // --- graphs ---
  // From BeginCapture on, work on this stream, and on those that wait for its events, is recorded and not done. Waiting
  // on the host, allocating and events of outside break the capture, which EndCapture then says.
  virtual Status BeginCapture(Stream stream) = 0;
  virtual Result<Graph> EndCapture(Stream stream) = 0;
  virtual Status Replay(Graph graph, Stream stream) = 0;
  virtual Status Destroy(Graph graph) = 0;

  virtual Status MatMul(const MatMulParams& params, Stream stream) = 0;
};

// Whether a driver can run what was built with this version of CUDA. Both are as cudaDriverGetVersion gives them: 13020
// for 13.2; 0: there is no driver.
Status CheckDriver(int driver, int built_with);

// --- the devices of this build: CUDA's, or one that the host executor plays ---
// All of them, in the order of their indices. An error, kUnsupported, where there is no driver or an old one.
Result<std::vector<DeviceProperties>> ListDevices();
// For the thread that calls it.
Result<std::unique_ptr<Runtime>> OpenDevice(int index);

}  // namespace inferflux::cuda
