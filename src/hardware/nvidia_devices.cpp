#include "hardware/nvidia_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/driver_values.h"
#include "hardware/identity.h"
#include "hardware/shared_library.h"

namespace inferflux::hardware {
namespace {

using NvmlReturn = int;
constexpr NvmlReturn kNvmlSuccess = 0;
constexpr NvmlReturn kNvmlDriverNotLoaded = 9;

struct NvmlDevice;  // opaque

// nvmlPciInfo_t
struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(NvmlPciInfo) == 68);

// nvmlMemory_t, bytes
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Nvml {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shut_down)() = nullptr;
  const char* (*error_string)(NvmlReturn) = nullptr;
  NvmlReturn (*driver_version)(char*, unsigned) = nullptr;
  NvmlReturn (*count)(unsigned*) = nullptr;
  NvmlReturn (*handle)(unsigned, NvmlDevice**) = nullptr;
  NvmlReturn (*name)(NvmlDevice*, char*, unsigned) = nullptr;
  NvmlReturn (*uuid)(NvmlDevice*, char*, unsigned) = nullptr;
  NvmlReturn (*pci)(NvmlDevice*, NvmlPciInfo*) = nullptr;
  NvmlReturn (*memory)(NvmlDevice*, NvmlMemory*) = nullptr;

  std::string Describe(NvmlReturn code) const {
    const char* text = error_string(code);
    return text != nullptr ? text : fmt::format("error {}", code);
  }
};

// The name of the first function that the library lacks; null if it has all.
const char* FindNvml(const SharedLibrary& library, Nvml& out) {
  const char* missing = nullptr;
  const auto find = [&]<class Function>(const char* name, Function*& function) {
    function = library.Find<Function>(name);
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find("nvmlInit_v2", out.init);
  find("nvmlShutdown", out.shut_down);
  find("nvmlErrorString", out.error_string);
  find("nvmlSystemGetDriverVersion", out.driver_version);
  find("nvmlDeviceGetCount_v2", out.count);
  find("nvmlDeviceGetHandleByIndex_v2", out.handle);
  find("nvmlDeviceGetName", out.name);
  find("nvmlDeviceGetUUID", out.uuid);
  find("nvmlDeviceGetPciInfo_v3", out.pci);
  find("nvmlDeviceGetMemoryInfo", out.memory);
  return missing;
}

// The text that `read` writes into a buffer.
template <class Read>
std::string NvmlText(const Nvml& nvml, const std::string& what, std::vector<std::string>& notes, Read read) {
  char text[128] = {};
  const NvmlReturn code = read(text, static_cast<unsigned>(sizeof text));
  if (code == kNvmlSuccess) return TextIn(text);
  notes.push_back(fmt::format("{}: {}", what, nvml.Describe(code)));
  return {};
}

Device ReadNvidiaDevice(const Nvml& nvml, NvmlDevice* handle, const std::string& which,
                        std::vector<std::string>& notes) {
  Device out{.kind = DriverKind::kNvidia, .name = {}, .type = "discrete", .uuid = {}, .pci_address = {}};
  out.name = NvmlText(nvml, which + ", its name", notes,
                      [&](char* text, unsigned size) { return nvml.name(handle, text, size); });
  out.uuid = NvmlText(nvml, which + ", its UUID", notes,
                      [&](char* text, unsigned size) { return nvml.uuid(handle, text, size); });
  NvmlPciInfo pci{};
  if (const NvmlReturn code = nvml.pci(handle, &pci); code == kNvmlSuccess) {
    out.pci_address = PciAddress(pci.domain, pci.bus, pci.device, 0);
  } else {
    notes.push_back(fmt::format("{}, its PCI address: {}", which, nvml.Describe(code)));
  }
  NvmlMemory memory{};
  if (const NvmlReturn code = nvml.memory(handle, &memory); code == kNvmlSuccess) {
    out.total_bytes = BoundedBytes(memory.total);
    out.free_bytes = BoundedBytes(memory.free);
  } else {  // such as GPUs that share the host's memory
    notes.push_back(fmt::format("{}, its memory: {}", which, nvml.Describe(code)));
  }
  return out;
}

void ReadNvidiaDevices(const Nvml& nvml, DriverReport& out) {
  const std::string driver = NvmlText(nvml, "the driver's version", out.notes,
                                      [&](char* text, unsigned size) { return nvml.driver_version(text, size); });
  unsigned count = 0;
  if (const NvmlReturn code = nvml.count(&count); code != kNvmlSuccess) {
    out.state = DriverState::kFailed;
    out.reason = "it does not count its devices: " + nvml.Describe(code);
    return;
  }
  for (unsigned i = 0; i < std::min(count, kMostDevices); ++i) {
    const std::string which = fmt::format("device {}", i);
    NvmlDevice* handle = nullptr;
    if (const NvmlReturn code = nvml.handle(i, &handle); code != kNvmlSuccess) {
      out.notes.push_back(fmt::format("{}: {}", which, nvml.Describe(code)));
      continue;
    }
    out.devices.push_back(ReadNvidiaDevice(nvml, handle, which, out.notes));
    out.devices.back().driver = driver;
  }
  if (!out.devices.empty()) {
    out.state = DriverState::kPresent;
  } else if (count > 0) {
    out.state = DriverState::kFailed;
    out.reason = "none of its devices answers";
  } else {
    out.reason = "the driver finds no device";
  }
}

}  // namespace

DriverReport NvidiaDevices(const std::string& name) {
  DriverReport out{.kind = DriverKind::kNvidia};
  const auto library = SharedLibrary::Open(name);
  if (!library) return out;
  Nvml nvml;
  if (const char* missing = FindNvml(*library, nvml); missing != nullptr) {
    out.state = DriverState::kFailed;
    out.reason = fmt::format("{} has no {}; a newer driver has it", name, missing);
    return out;
  }
  if (const NvmlReturn code = nvml.init(); code != kNvmlSuccess) {
    out.state = code == kNvmlDriverNotLoaded ? DriverState::kNone : DriverState::kFailed;
    out.reason = nvml.Describe(code);
    return out;
  }
  ReadNvidiaDevices(nvml, out);
  nvml.shut_down();
  return out;
}

}  // namespace inferflux::hardware
