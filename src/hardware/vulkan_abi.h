// The part of Vulkan's C interface that a list of devices needs, declared here so that no build needs Vulkan's headers.
// The names are those of the specification without its prefix Vk. tests/unit/hardware/vulkan_abi_test.cpp compares each
// struct with the real headers where they are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferflux::hardware::vulkan {

using Result = int32_t;
inline constexpr Result kSuccess = 0;
inline constexpr Result kIncomplete = 5;
inline constexpr Result kErrorIncompatibleDriver = -9;  // no driver that the loader can use

using Flags = uint32_t;
using DeviceSize = uint64_t;
struct Instance;
struct PhysicalDevice;

enum StructureType : int32_t {
  kApplicationInfo = 0,
  kInstanceCreateInfo = 1,
  kPhysicalDeviceProperties2 = 1000059001,
  kPhysicalDeviceMemoryProperties2 = 1000059006,
  kPhysicalDeviceIdProperties = 1000071004,
  kPhysicalDeviceDriverProperties = 1000196000,
  kPhysicalDevicePciBusInfoProperties = 1000212000,
  kPhysicalDeviceMemoryBudgetProperties = 1000237000,
};

constexpr uint32_t MakeVersion(uint32_t major, uint32_t minor) { return (major << 22) | (minor << 12); }

struct ApplicationInfo {
  StructureType type = kApplicationInfo;
  const void* next = nullptr;
  const char* application_name = nullptr;
  uint32_t application_version = 0;
  const char* engine_name = nullptr;
  uint32_t engine_version = 0;
  uint32_t api_version = 0;
};

struct InstanceCreateInfo {
  StructureType type = kInstanceCreateInfo;
  const void* next = nullptr;
  Flags flags = 0;
  const ApplicationInfo* application = nullptr;
  uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
};

struct ExtensionProperties {
  char name[256];
  uint32_t version;
};

struct PhysicalDeviceProperties {
  uint32_t api_version;
  uint32_t driver_version;
  uint32_t vendor_id;
  uint32_t device_id;
  int32_t device_type;
  char name[256];
  uint8_t pipeline_cache_uuid[16];
  alignas(8) std::byte limits[504];
  uint32_t sparse_properties[5];
};

// The rest are links of chains: `type` and `next`, then what they carry.
struct PhysicalDeviceProperties2 {
  StructureType type = kPhysicalDeviceProperties2;
  void* next = nullptr;
  PhysicalDeviceProperties properties = {};
};

struct PhysicalDeviceIdProperties {
  StructureType type = kPhysicalDeviceIdProperties;
  void* next = nullptr;
  uint8_t device_uuid[16] = {};
  uint8_t driver_uuid[16] = {};
  uint8_t device_luid[8] = {};
  uint32_t device_node_mask = 0;
  uint32_t device_luid_valid = 0;
};

struct PhysicalDeviceDriverProperties {
  StructureType type = kPhysicalDeviceDriverProperties;
  void* next = nullptr;
  int32_t driver_id = 0;
  char driver_name[256] = {};
  char driver_info[256] = {};
  uint8_t conformance_version[4] = {};
};

struct PhysicalDevicePciBusInfoProperties {
  StructureType type = kPhysicalDevicePciBusInfoProperties;
  void* next = nullptr;
  uint32_t domain = 0;
  uint32_t bus = 0;
  uint32_t device = 0;
  uint32_t function = 0;
};

inline constexpr uint32_t kMaxMemoryTypes = 32;
inline constexpr uint32_t kMaxMemoryHeaps = 16;
inline constexpr Flags kHeapDeviceLocal = 1;

struct MemoryType {
  Flags flags;
  uint32_t heap;
};

struct MemoryHeap {
  DeviceSize size;
  Flags flags;
};

struct PhysicalDeviceMemoryProperties {
  uint32_t type_count;
  MemoryType types[kMaxMemoryTypes];
  uint32_t heap_count;
  MemoryHeap heaps[kMaxMemoryHeaps];
};

struct PhysicalDeviceMemoryProperties2 {
  StructureType type = kPhysicalDeviceMemoryProperties2;
  void* next = nullptr;
  PhysicalDeviceMemoryProperties memory = {};
};

struct PhysicalDeviceMemoryBudgetProperties {
  StructureType type = kPhysicalDeviceMemoryBudgetProperties;
  void* next = nullptr;
  DeviceSize budget[kMaxMemoryHeaps] = {};
  DeviceSize usage[kMaxMemoryHeaps] = {};
};

// --- the functions ---

using VoidFunction = void (*)();
using GetInstanceProcAddr = VoidFunction(Instance*, const char*);
using EnumerateInstanceVersion = Result(uint32_t*);
using CreateInstance = Result(const InstanceCreateInfo*, const void* allocator, Instance**);
using DestroyInstance = void(Instance*, const void* allocator);
using EnumeratePhysicalDevices = Result(Instance*, uint32_t*, PhysicalDevice**);
using EnumerateDeviceExtensionProperties = Result(PhysicalDevice*, const char* layer, uint32_t*, ExtensionProperties*);
using GetPhysicalDeviceProperties2 = void(PhysicalDevice*, PhysicalDeviceProperties2*);
using GetPhysicalDeviceMemoryProperties2 = void(PhysicalDevice*, PhysicalDeviceMemoryProperties2*);

}  // namespace inferflux::hardware::vulkan
