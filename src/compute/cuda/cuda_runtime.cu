// The runtime interface on CUDA 13 and cuBLASLt.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "compute/cuda/cuda_launch.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {
namespace {

cudaStream_t Native(Stream stream) { return static_cast<cudaStream_t>(stream.native); }
cudaEvent_t Native(Event event) { return static_cast<cudaEvent_t>(event.native); }
cudaGraphExec_t Native(Graph graph) { return static_cast<cudaGraphExec_t>(graph.native); }

Status Check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return {};
  return CudaFailure(code, what);
}

Status Check(cublasStatus_t code, const char* what) {
  if (code == CUBLAS_STATUS_SUCCESS) return {};
  return Fail(ErrorCode::kInternal, "{}: {}", what, cublasLtGetStatusName(code));
}

cudaDataType_t NativeType(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return CUDA_R_32F;
    case ElementType::kF16:
      return CUDA_R_16F;
    case ElementType::kBf16:
      return CUDA_R_16BF;
    case ElementType::kFp8:
      return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}

// Without what only the device itself tells.
DeviceProperties PropertiesOf(const cudaDeviceProp& all) {
  const auto* id = reinterpret_cast<const unsigned char*>(all.uuid.bytes);
  std::string uuid = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
    uuid += fmt::format("{:02x}", id[i]);
  }
  return {.name = all.name,
          .compute_capability = all.major * 10 + all.minor,
          .multiprocessors = all.multiProcessorCount,
          .total_bytes = static_cast<int64_t>(all.totalGlobalMem),
          .shared_bytes = static_cast<int64_t>(all.sharedMemPerBlockOptin),
          .uuid = uuid,
          .pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", static_cast<unsigned>(all.pciDomainID),
                                     static_cast<unsigned>(all.pciBusID), static_cast<unsigned>(all.pciDeviceID))};
}

// What cuBLASLt may assume of an address: the power of two that divides it, at most 256.
uint32_t AlignmentOf(const void* at) {
  const auto bits = reinterpret_cast<uintptr_t>(at) | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

// cuBLASLt's handles, each destroyed with its owner.
struct Descriptors {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

  ~Descriptors() {
    if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
    for (cublasLtMatrixLayout_t layout : {a, b, d}) {
      if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    }
    if (preference != nullptr) cublasLtMatmulPreferenceDestroy(preference);
  }

  template <class T>
  Status Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return Check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(T)), "a product's descriptor");
  }

  Status Describe(const MatMulParams& p, size_t workspace_bytes) {
    const auto layout = [](cublasLtMatrixLayout_t& to, ElementType type, int64_t rows, int64_t columns,
                           int64_t leading) {
      return Check(cublasLtMatrixLayoutCreate(&to, NativeType(type), rows, columns, leading), "a matrix's layout");
    };
    if (auto made = Check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product"); !made) {
      return made;
    }
    if (auto set = Set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N); !set) return set;
    if (auto set = Set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N); !set) return set;
    if (p.scale_a != nullptr) {
      if (auto set = Set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.scale_a); !set) return set;
    }
    if (p.scale_b != nullptr) {
      if (auto set = Set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.scale_b); !set) return set;
    }
    if (p.bias != nullptr) {
      if (auto set = Set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS); !set) return set;
      if (auto set = Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias); !set) return set;
      if (auto set = Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, NativeType(p.d_type)); !set) return set;
    }
    const int64_t a_rows = p.transpose_a ? p.k : p.m;
    const int64_t b_rows = p.transpose_b ? p.n : p.k;
    if (auto made = layout(a, p.a_type, a_rows, p.m + p.k - a_rows, p.lda); !made) return made;
    if (auto made = layout(b, p.b_type, b_rows, p.n + p.k - b_rows, p.ldb); !made) return made;
    if (auto made = layout(d, p.d_type, p.m, p.n, p.ldd); !made) return made;
    if (auto made = Check(cublasLtMatmulPreferenceCreate(&preference), "a product's preference"); !made) return made;
    for (const auto& [attribute, at] : {std::pair{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.a},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.b},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<const void*>(p.d)},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<const void*>(p.d)}}) {
      if (auto set = Prefer(attribute, AlignmentOf(at)); !set) return set;
    }
    return Prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  }

  template <class T>
  Status Prefer(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    return Check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(T)),
                 "a product's preference");
  }
};

class CudaRuntime final : public Runtime {
 public:
  explicit CudaRuntime(int device) : device_(device) {}

  ~CudaRuntime() override {
    if (blas_ != nullptr) cublasLtDestroy(blas_);
    for (const auto& [stream, workspace] : workspaces_) cudaFree(workspace);
  }

  Status Open() {
    if (auto set = Check(cudaSetDevice(device_), "the device"); !set) return set;
    return Check(cublasLtCreate(&blas_), "cuBLASLt");
  }

  Result<DeviceProperties> Properties() override {
    cudaDeviceProp all{};
    size_t free = 0, total = 0;
    if (auto got = Check(cudaGetDeviceProperties(&all, device_), "the device's properties"); !got) return Forward(got);
    if (auto got = Check(cudaMemGetInfo(&free, &total), "the device's memory"); !got) return Forward(got);
    DeviceProperties out = PropertiesOf(all);
    out.total_bytes = static_cast<int64_t>(total);
    out.free_bytes = static_cast<int64_t>(free);
    return out;
  }

  Result<bool> CanAccessPeer(int device) override {
    int can = 0;
    if (auto got = Check(cudaDeviceCanAccessPeer(&can, device_, device), "peer access"); !got) return Forward(got);
    return can != 0;
  }

  Result<void*> Allocate(size_t bytes) override {
    void* at = nullptr;
    if (auto made = Check(cudaMalloc(&at, bytes), "device memory"); !made) return Forward(made);
    return at;
  }
  Status Free(void* at) override { return Check(cudaFree(at), "freeing device memory"); }
  Result<void*> AllocatePinned(size_t bytes) override {
    void* at = nullptr;
    if (auto made = Check(cudaMallocHost(&at, bytes), "pinned memory"); !made) return Forward(made);
    return at;
  }
  Status FreePinned(void* at) override { return Check(cudaFreeHost(at), "freeing pinned memory"); }

  Status CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) override {
    return Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, Native(stream)), "a copy to the device");
  }
  Status CopyToHost(void* to, const void* from, size_t bytes, Stream stream) override {
    return Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, Native(stream)), "a copy to the host");
  }
  Status CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) override {
    return Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, Native(stream)), "a copy on the device");
  }
  Status Fill(void* to, uint8_t value, size_t bytes, Stream stream) override {
    return Check(cudaMemsetAsync(to, value, bytes, Native(stream)), "filling device memory");
  }

  Result<Stream> CreateStream() override {
    cudaStream_t stream = nullptr;
    auto made = Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    if (!made) return Forward(made);
    // One for each stream, because products of two streams run side by side; now, because captures do not allocate.
    void* workspace = nullptr;
    if (auto room = Check(cudaMalloc(&workspace, kWorkspaceBytes), "cuBLASLt's workspace"); !room) {
      cudaStreamDestroy(stream);
      return Forward(room);
    }
    workspaces_[stream] = workspace;
    return Stream{stream};
  }
  Status Destroy(Stream stream) override {
    if (auto done = Synchronize(stream); !done) return done;
    const auto workspace = workspaces_.extract(Native(stream));
    if (!workspace.empty()) cudaFree(workspace.mapped());
    return Check(cudaStreamDestroy(Native(stream)), "a stream's end");
  }
  Status Synchronize(Stream stream) override { return Check(cudaStreamSynchronize(Native(stream)), "a stream's work"); }

  Result<Event> CreateEvent() override {
    cudaEvent_t event = nullptr;
    if (auto made = Check(cudaEventCreate(&event), "an event"); !made) return Forward(made);
    return Event{event};
  }
  Status Destroy(Event event) override { return Check(cudaEventDestroy(Native(event)), "an event's end"); }
  Status Record(Event event, Stream stream) override {
    return Check(cudaEventRecord(Native(event), Native(stream)), "recording an event");
  }
  Status Wait(Stream stream, Event event) override {
    return Check(cudaStreamWaitEvent(Native(stream), Native(event)), "waiting for an event");
  }
  Status Synchronize(Event event) override { return Check(cudaEventSynchronize(Native(event)), "an event's work"); }
  Result<float> Milliseconds(Event from, Event to) override {
    float milliseconds = 0.0f;
    auto got = Check(cudaEventElapsedTime(&milliseconds, Native(from), Native(to)), "the time between events");
    if (!got) return Forward(got);
    return milliseconds;
  }

  Status BeginCapture(Stream stream) override {
    // Global mode would refuse the allocations of other models' threads meanwhile.
    return Check(cudaStreamBeginCapture(Native(stream), cudaStreamCaptureModeThreadLocal), "beginning a capture");
  }
  Result<Graph> EndCapture(Stream stream) override {
    cudaGraph_t graph = nullptr;
    if (auto ended = Check(cudaStreamEndCapture(Native(stream), &graph), "a capture"); !ended) return Forward(ended);
    cudaGraphExec_t executable = nullptr;
    auto made = Check(cudaGraphInstantiate(&executable, graph, 0), "a graph");
    cudaGraphDestroy(graph);
    if (!made) return Forward(made);
    return Graph{executable};
  }
  Status Replay(Graph graph, Stream stream) override {
    return Check(cudaGraphLaunch(Native(graph), Native(stream)), "a graph's launch");
  }
  Status Destroy(Graph graph) override { return Check(cudaGraphExecDestroy(Native(graph)), "a graph's end"); }

  Status MatMul(const MatMulParams& p, Stream stream) override {
    if (auto allowed = CheckMatMul(p); !allowed) return allowed;
    const auto workspace = workspaces_.find(Native(stream));
    if (workspace == workspaces_.end())
      return Fail(ErrorCode::kInvalidArgument, "a product on no stream of this device");
    Descriptors use;
    if (auto described = use.Describe(p, kWorkspaceBytes); !described) return described;
    const auto algorithm = AlgorithmFor(p);
    if (!algorithm) return Forward(algorithm);
    return Check(cublasLtMatmul(blas_, use.operation, &p.alpha, p.a, use.a, p.b, use.b, &p.beta, p.d, use.d, p.d, use.d,
                                *algorithm, workspace->second, kWorkspaceBytes, Native(stream)),
                 "a product");
  }

 private:
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // NVIDIA's advice for Hopper

  // What the choice of an algorithm depends on.
  using Product = std::tuple<int64_t, int64_t, int64_t, ElementType, ElementType, bool, bool, int64_t, int64_t, int64_t,
                             bool, bool, uint32_t, uint32_t, uint32_t>;

  // Asking takes tens of microseconds, so that answers are kept.
  Result<const cublasLtMatmulAlgo_t*> AlgorithmFor(const MatMulParams& p) {
    MatMulParams rounded = p;
    rounded.n = ColumnsOfAlgorithm(p.n);
    if (p.transpose_b) rounded.ldb = std::max(p.ldb, rounded.n);
    const Product key{rounded.m,
                      rounded.n,
                      rounded.k,
                      p.a_type,
                      p.d_type,
                      p.transpose_a,
                      p.transpose_b,
                      rounded.lda,
                      rounded.ldb,
                      p.ldd,
                      p.scale_a != nullptr,
                      p.bias != nullptr,
                      AlignmentOf(p.a),
                      AlignmentOf(p.b),
                      AlignmentOf(p.d)};
    const auto known = algorithms_.find(key);
    if (known != algorithms_.end()) return &known->second;
    Descriptors use;
    if (auto described = use.Describe(rounded, kWorkspaceBytes); !described) return Forward(described);
    cublasLtMatmulHeuristicResult_t choice{};
    int found = 0;
    if (auto asked = Check(cublasLtMatmulAlgoGetHeuristic(blas_, use.operation, use.a, use.b, use.d, use.d,
                                                          use.preference, 1, &choice, &found),
                           "choosing a product's algorithm");
        !asked) {
      return Forward(asked);
    }
    if (found == 0) {
      return Fail(ErrorCode::kUnsupported, "cuBLASLt has no algorithm for {} x {} x {}", p.m, p.n, p.k);
    }
    return &algorithms_.emplace(key, choice.algo).first->second;
  }

  int device_;
  cublasLtHandle_t blas_ = nullptr;
  std::map<cudaStream_t, void*> workspaces_;
  std::map<Product, cublasLtMatmulAlgo_t> algorithms_;
};

}  // namespace

Result<std::vector<DeviceProperties>> ListDevices() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (auto fits = CheckDriver(driver, CUDART_VERSION); !fits) return Forward(fits);
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorNoDevice) return Fail(ErrorCode::kUnsupported, "NVIDIA's driver finds no GPU here");
  if (auto got = Check(counted, "CUDA's devices"); !got) return Forward(got);
  std::vector<DeviceProperties> out;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp all{};
    if (auto got = Check(cudaGetDeviceProperties(&all, i), "a device's properties"); !got) return Forward(got);
    out.push_back(PropertiesOf(all));
  }
  return out;
}

Result<std::unique_ptr<Runtime>> OpenDevice(int index) {
  int count = 0;
  if (auto got = Check(cudaGetDeviceCount(&count), "CUDA's devices"); !got) return Forward(got);
  if (index < 0 || index >= count) {
    return Fail(ErrorCode::kNotFound, "CUDA device {} is not there; there are {}", index, count);
  }
  auto runtime = std::make_unique<CudaRuntime>(index);
  if (auto opened = runtime->Open(); !opened) return Forward(opened);
  return runtime;
}

}  // namespace inferflux::cuda
