#include "hardware/fake_vulkan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

namespace vulkan = inferflux::hardware::vulkan;
using inferflux::hardware::testing::FakeVulkan;
using inferflux::hardware::testing::FakeVulkanDevice;

namespace {

FakeVulkan& Answers() {
  static FakeVulkan answers;
  return answers;
}

FakeVulkanDevice& DeviceOf(vulkan::PhysicalDevice* handle) { return *reinterpret_cast<FakeVulkanDevice*>(handle); }

bool Has(const FakeVulkanDevice& device, const char* extension) {
  return std::ranges::find(device.extensions, extension) != device.extensions.end();
}

template <class T, class Value>
vulkan::Result Fill(const std::vector<Value>& values, uint32_t* count, T* out, void (*write)(const Value&, T&)) {
  const auto all = static_cast<uint32_t>(values.size());
  if (out == nullptr) {
    *count = all;
    return vulkan::kSuccess;
  }
  *count = std::min(*count, all);
  for (uint32_t i = 0; i < *count; ++i) write(values[i], out[i]);
  return *count < all ? vulkan::kIncomplete : vulkan::kSuccess;
}

struct Link {
  vulkan::StructureType type;
  Link* next;
};

vulkan::Result Version(uint32_t* out) {
  *out = Answers().version;
  return Answers().version_error;
}

vulkan::Result Create(const vulkan::InstanceCreateInfo* info, const void*, vulkan::Instance** out) {
  if (Answers().create_error != 0) return Answers().create_error;
  if (Answers().creates_nothing) return vulkan::kSuccess;
  Answers().application = info->application->application_name;
  Answers().application_version = info->application->api_version;
  ++Answers().instances;
  *out = reinterpret_cast<vulkan::Instance*>(&Answers());
  return vulkan::kSuccess;
}

bool IsOurs(vulkan::Instance* instance) { return instance == reinterpret_cast<vulkan::Instance*>(&Answers()); }

void Destroy(vulkan::Instance* instance, const void*) {
  if (IsOurs(instance)) --Answers().instances;
}

vulkan::Result Devices(vulkan::Instance* instance, uint32_t* count, vulkan::PhysicalDevice** out) {
  if (!IsOurs(instance)) return -3;
  if (const int32_t error = out == nullptr ? Answers().count_error : Answers().list_error; error != 0) return error;
  if (out == nullptr) {
    *count = static_cast<uint32_t>(Answers().devices.size()) + Answers().extra_count;
    return vulkan::kSuccess;
  }
  return Fill<vulkan::PhysicalDevice*, FakeVulkanDevice>(
      Answers().devices, count, out, [](const FakeVulkanDevice& device, vulkan::PhysicalDevice*& handle) {
        handle = reinterpret_cast<vulkan::PhysicalDevice*>(const_cast<FakeVulkanDevice*>(&device));
      });
}

vulkan::Result Extensions(vulkan::PhysicalDevice* handle, const char*, uint32_t* count,
                          vulkan::ExtensionProperties* out) {
  return Fill<vulkan::ExtensionProperties, std::string>(
      DeviceOf(handle).extensions, count, out, [](const std::string& name, vulkan::ExtensionProperties& extension) {
        extension = {};
        std::copy_n(name.data(), name.size(), extension.name);
      });
}

void Properties(vulkan::PhysicalDevice* handle, vulkan::PhysicalDeviceProperties2* out) {
  const FakeVulkanDevice& device = DeviceOf(handle);
  out->properties.api_version = device.version;
  out->properties.device_type = device.type;
  std::ranges::fill(out->properties.name, 'x');  // a name that fills the buffer has no end
  std::copy_n(device.name.c_str(), std::min<size_t>(device.name.size() + 1, sizeof out->properties.name),
              out->properties.name);
  for (Link* link = static_cast<Link*>(out->next); link != nullptr; link = link->next) {
    if (link->type == vulkan::kPhysicalDeviceIdProperties && device.version >= vulkan::MakeVersion(1, 1)) {
      std::ranges::copy(device.uuid, reinterpret_cast<vulkan::PhysicalDeviceIdProperties*>(link)->device_uuid);
    } else if (link->type == vulkan::kPhysicalDeviceDriverProperties &&
               (device.version >= vulkan::MakeVersion(1, 2) || Has(device, "VK_KHR_driver_properties"))) {
      auto* driver = reinterpret_cast<vulkan::PhysicalDeviceDriverProperties*>(link);
      std::copy_n(device.driver.c_str(), device.driver.size() + 1, driver->driver_name);
      std::copy_n(device.driver_info.c_str(), device.driver_info.size() + 1, driver->driver_info);
    } else if (link->type == vulkan::kPhysicalDevicePciBusInfoProperties && Has(device, "VK_EXT_pci_bus_info")) {
      auto* pci = reinterpret_cast<vulkan::PhysicalDevicePciBusInfoProperties*>(link);
      pci->domain = device.pci[0];
      pci->bus = device.pci[1];
      pci->device = device.pci[2];
      pci->function = device.pci[3];
    } else {
      Answers().forbidden.push_back(link->type);
    }
  }
}

void Memory(vulkan::PhysicalDevice* handle, vulkan::PhysicalDeviceMemoryProperties2* out) {
  const FakeVulkanDevice& device = DeviceOf(handle);
  auto* link = static_cast<Link*>(out->next);
  if (link != nullptr && !Has(device, "VK_EXT_memory_budget")) Answers().forbidden.push_back(link->type);
  auto* budget = reinterpret_cast<vulkan::PhysicalDeviceMemoryBudgetProperties*>(link);
  out->memory.heap_count = static_cast<uint32_t>(device.heaps.size());
  for (size_t i = 0; i < std::min<size_t>(device.heaps.size(), vulkan::kMaxMemoryHeaps); ++i) {
    out->memory.heaps[i] = {device.heaps[i].size, device.heaps[i].flags};
    if (budget == nullptr) continue;
    budget->budget[i] = device.heaps[i].budget;
    budget->usage[i] = device.heaps[i].usage;
  }
}

}  // namespace

extern "C" {

FakeVulkan* FakeVulkanAnswers() { return &Answers(); }

vulkan::VoidFunction vkGetInstanceProcAddr(vulkan::Instance* instance, const char* name) {
  static const std::map<std::string, vulkan::VoidFunction> functions = {
      {"vkEnumerateInstanceVersion", reinterpret_cast<vulkan::VoidFunction>(Version)},
      {"vkCreateInstance", reinterpret_cast<vulkan::VoidFunction>(Create)},
      {"vkDestroyInstance", reinterpret_cast<vulkan::VoidFunction>(Destroy)},
      {"vkEnumeratePhysicalDevices", reinterpret_cast<vulkan::VoidFunction>(Devices)},
      {"vkEnumerateDeviceExtensionProperties", reinterpret_cast<vulkan::VoidFunction>(Extensions)},
      {"vkGetPhysicalDeviceProperties2", reinterpret_cast<vulkan::VoidFunction>(Properties)},
      {"vkGetPhysicalDeviceMemoryProperties2", reinterpret_cast<vulkan::VoidFunction>(Memory)}};
  if (Answers().missing.contains(name)) return nullptr;
  const bool global =
      std::string_view(name) == "vkEnumerateInstanceVersion" || std::string_view(name) == "vkCreateInstance";
  if (!global && !IsOurs(instance)) return nullptr;
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}
}
