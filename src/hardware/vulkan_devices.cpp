#include "hardware/vulkan_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "hardware/driver_values.h"
#include "hardware/identity.h"
#include "hardware/shared_library.h"
#include "hardware/vulkan_abi.h"

namespace inferflux::hardware {
namespace {

constexpr uint32_t kVulkanVersion = vulkan::MakeVersion(1, 1);  // the first that tells UUIDs
constexpr uint32_t kDriverPropertiesVersion = vulkan::MakeVersion(1, 2);
constexpr uint32_t kMostExtensions = 4096;  // a count beyond it is not believed

struct VulkanLoader {
  vulkan::GetInstanceProcAddr* find = nullptr;
  vulkan::EnumerateInstanceVersion* version = nullptr;
  vulkan::CreateInstance* create = nullptr;
};

struct VulkanFunctions {
  vulkan::DestroyInstance* destroy = nullptr;
  vulkan::EnumeratePhysicalDevices* devices = nullptr;
  vulkan::EnumerateDeviceExtensionProperties* extensions = nullptr;
  vulkan::GetPhysicalDeviceProperties2* properties = nullptr;
  vulkan::GetPhysicalDeviceMemoryProperties2* memory = nullptr;
};

// Looks a function up. False if it is missing.
template <class Function>
bool FindVulkan(const VulkanLoader& loader, vulkan::Instance* instance, const char* name, Function*& out) {
  out = reinterpret_cast<Function*>(loader.find(instance, name));
  return out != nullptr;
}

// What a function of Vulkan lists: it is asked for the number, then for that many. `error`, if not null, gets the
// result of a call that failed.
template <class T, class List>
std::vector<T> ListAll(uint32_t most, List list, vulkan::Result* error = nullptr) {
  uint32_t count = 0;
  if (const vulkan::Result counted = list(&count, nullptr); counted != vulkan::kSuccess) {
    if (error != nullptr) *error = counted;
    return {};
  }
  count = std::min(count, most);
  std::vector<T> out(count);
  const vulkan::Result result = list(&count, out.data());
  if (result != vulkan::kSuccess && result != vulkan::kIncomplete) {
    if (error != nullptr) *error = result;
    return {};
  }
  out.resize(std::min<size_t>(count, out.size()));
  return out;
}

std::string_view VulkanTypeName(int32_t type) {
  constexpr std::array<std::string_view, 5> kNames = {"other", "integrated", "discrete", "virtual", "cpu"};
  return type >= 0 && static_cast<size_t>(type) < kNames.size() ? kNames[static_cast<size_t>(type)] : kNames[0];
}

// Only heaps of the device's own memory count; an integrated GPU's are the host's.
void ReadVulkanMemory(const VulkanFunctions& functions, vulkan::PhysicalDevice* device, bool has_budget, Device& out) {
  vulkan::PhysicalDeviceMemoryBudgetProperties budget;
  vulkan::PhysicalDeviceMemoryProperties2 memory;
  if (has_budget) memory.next = &budget;
  functions.memory(device, &memory);
  uint64_t total = 0, free = 0;
  for (uint32_t i = 0; i < std::min(memory.memory.heap_count, vulkan::kMaxMemoryHeaps); ++i) {
    const vulkan::MemoryHeap& heap = memory.memory.heaps[i];
    if ((heap.flags & vulkan::kHeapDeviceLocal) == 0) continue;
    total += heap.size;
    free += budget.budget[i] > budget.usage[i] ? budget.budget[i] - budget.usage[i] : 0;
  }
  out.total_bytes = BoundedBytes(total);
  if (has_budget) out.free_bytes = BoundedBytes(std::min(free, total));
}

Device ReadVulkanDevice(const VulkanFunctions& functions, vulkan::PhysicalDevice* device) {
  const auto extensions =
      ListAll<vulkan::ExtensionProperties>(kMostExtensions, [&](uint32_t* count, vulkan::ExtensionProperties* list) {
        return functions.extensions(device, nullptr, count, list);
      });
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(extensions, [&](const auto& extension) { return TextIn(extension.name) == name; });
  };
  vulkan::PhysicalDeviceProperties2 plain;
  functions.properties(device, &plain);
  const uint32_t version = plain.properties.api_version;

  // A driver may be asked only for what its version or its extensions have.
  vulkan::PhysicalDeviceProperties2 all;
  vulkan::PhysicalDeviceIdProperties id;
  vulkan::PhysicalDeviceDriverProperties driver;
  vulkan::PhysicalDevicePciBusInfoProperties pci;
  const bool has_pci = has("VK_EXT_pci_bus_info");
  const auto chain = [&](auto& link) {
    link.next = all.next;
    all.next = &link;
  };
  if (version >= kVulkanVersion) chain(id);
  if (version >= kDriverPropertiesVersion || has("VK_KHR_driver_properties")) chain(driver);
  if (has_pci) chain(pci);
  functions.properties(device, &all);

  Device out{.kind = DriverKind::kVulkan,
             .name = TextIn(plain.properties.name),
             .type = std::string(VulkanTypeName(plain.properties.device_type)),
             .uuid = Uuid(id.device_uuid),
             .pci_address = has_pci ? PciAddress(pci.domain, pci.bus, pci.device, pci.function) : ""};
  out.driver = TextIn(driver.driver_name);
  if (const std::string info = TextIn(driver.driver_info); !info.empty()) {
    out.driver += (out.driver.empty() ? "" : " ") + info;
  }
  ReadVulkanMemory(functions, device, has("VK_EXT_memory_budget"), out);
  return out;
}

void ReadVulkanDevices(const VulkanLoader& loader, vulkan::Instance* instance, DriverReport& out) {
  VulkanFunctions functions;
  const bool complete = FindVulkan(loader, instance, "vkDestroyInstance", functions.destroy) &&
                        FindVulkan(loader, instance, "vkEnumeratePhysicalDevices", functions.devices) &&
                        FindVulkan(loader, instance, "vkEnumerateDeviceExtensionProperties", functions.extensions) &&
                        FindVulkan(loader, instance, "vkGetPhysicalDeviceProperties2", functions.properties) &&
                        FindVulkan(loader, instance, "vkGetPhysicalDeviceMemoryProperties2", functions.memory);
  if (complete) {
    const auto list = [&](uint32_t* count, vulkan::PhysicalDevice** devices) {
      return functions.devices(instance, count, devices);
    };
    vulkan::Result error = vulkan::kSuccess;
    for (vulkan::PhysicalDevice* device : ListAll<vulkan::PhysicalDevice*>(kMostDevices, list, &error)) {
      out.devices.push_back(ReadVulkanDevice(functions, device));
    }
    out.state = !out.devices.empty()        ? DriverState::kPresent
                : error == vulkan::kSuccess ? DriverState::kNone
                                            : DriverState::kFailed;
    if (out.state == DriverState::kNone) out.reason = "the loader finds no device";
    if (out.state == DriverState::kFailed) out.reason = fmt::format("vkEnumeratePhysicalDevices failed with {}", error);
  } else {
    out.state = DriverState::kFailed;
    out.reason = "the loader lacks functions of Vulkan 1.1";
  }
  if (functions.destroy != nullptr) functions.destroy(instance, nullptr);
}

}  // namespace

DriverReport VulkanDevices(const std::string& name) {
  DriverReport out{.kind = DriverKind::kVulkan};
  const auto library = SharedLibrary::Open(name);
  if (!library) return out;
  VulkanLoader loader{.find = library->Find<vulkan::GetInstanceProcAddr>("vkGetInstanceProcAddr")};
  uint32_t version = 0;
  if (loader.find == nullptr || !FindVulkan(loader, nullptr, "vkEnumerateInstanceVersion", loader.version) ||
      !FindVulkan(loader, nullptr, "vkCreateInstance", loader.create) || loader.version(&version) != vulkan::kSuccess ||
      version < kVulkanVersion) {
    out.state = DriverState::kFailed;
    out.reason = name + " is no loader of Vulkan 1.1 or newer";
    return out;
  }
  const vulkan::ApplicationInfo application{.application_name = "inferflux", .api_version = kVulkanVersion};
  const vulkan::InstanceCreateInfo create{.application = &application};
  vulkan::Instance* instance = nullptr;
  const vulkan::Result result = loader.create(&create, nullptr, &instance);
  if (result == vulkan::kErrorIncompatibleDriver) {
    out.reason = "the loader finds no driver";
    return out;
  }
  if (result != vulkan::kSuccess || instance == nullptr) {
    out.state = DriverState::kFailed;
    out.reason = fmt::format("vkCreateInstance returns {}", result);
    return out;
  }
  ReadVulkanDevices(loader, instance, out);
  return out;
}

}  // namespace inferflux::hardware
