#include "hardware/fake_nvml.h"

#include <algorithm>
#include <cstring>

namespace {

constexpr int kInvalidArgument = 2;
constexpr int kInsufficientSize = 7;

inferflux::hardware::testing::FakeNvml& Answers() {
  static inferflux::hardware::testing::FakeNvml answers;
  return answers;
}

const inferflux::hardware::testing::FakeGpu& Gpu(void* handle) {
  return *static_cast<const inferflux::hardware::testing::FakeGpu*>(handle);
}

// As NVML does: no part of a text that does not fit.
int Write(const std::string& text, char* out, unsigned size) {
  if (text.size() + 1 > size) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return 0;
}

struct Pci {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};

struct Memory {
  unsigned long long total, free, used;
};

}  // namespace

extern "C" {

inferflux::hardware::testing::FakeNvml* FakeNvmlAnswers() { return &Answers(); }

int nvmlInit_v2() {
  if (Answers().init_error == 0) ++Answers().open;
  return Answers().init_error;
}
int nvmlShutdown() {
  --Answers().open;
  return 0;
}
const char* nvmlErrorString(int code) {
  switch (code) {
    case 3:
      return "Not Supported";
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    case 99:
      return nullptr;
    default:
      return "Unknown Error";
  }
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return Answers().driver_error != 0 ? Answers().driver_error : Write("550.54.14", out, size);
}
int nvmlDeviceGetCount_v2(unsigned* out) {
  *out = static_cast<unsigned>(Answers().gpus.size()) + Answers().extra_count;
  return Answers().count_error;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  if (index >= Answers().gpus.size()) return kInvalidArgument;
  *out = &Answers().gpus[index];
  return Answers().gpus[index].handle_error;
}
int nvmlDeviceGetName(void* handle, char* out, unsigned size) { return Write(Gpu(handle).name, out, size); }
int nvmlDeviceGetUUID(void* handle, char* out, unsigned size) { return Write(Gpu(handle).uuid, out, size); }
int nvmlDeviceGetPciInfo_v3(void* handle, Pci* out) {
  *out = {};
  out->domain = Gpu(handle).domain;
  out->bus = Gpu(handle).bus;
  out->device = Gpu(handle).device;
  return Gpu(handle).pci_error;
}
int nvmlDeviceGetMemoryInfo(void* handle, Memory* out) {
  *out = {Gpu(handle).total, Gpu(handle).free, Gpu(handle).total - Gpu(handle).free};
  return Gpu(handle).memory_error;
}
}
