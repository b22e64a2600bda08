// The declarations of vulkan_abi.h against Vulkan's own headers, where they are installed (libvulkan-dev).
#include "hardware/vulkan_abi.h"

#include <gtest/gtest.h>

#if defined(INFERFLUX_VULKAN_HEADERS)
#include <vulkan/vulkan_core.h>

#include <cstddef>

namespace inferflux::hardware::vulkan {
namespace {

static_assert(kIncomplete == VK_INCOMPLETE && kErrorIncompatibleDriver == VK_ERROR_INCOMPATIBLE_DRIVER);
static_assert(kHeapDeviceLocal == VK_MEMORY_HEAP_DEVICE_LOCAL_BIT);
static_assert(kMaxMemoryHeaps == VK_MAX_MEMORY_HEAPS && kMaxMemoryTypes == VK_MAX_MEMORY_TYPES);
static_assert(MakeVersion(1, 1) == VK_API_VERSION_1_1 && MakeVersion(1, 2) == VK_API_VERSION_1_2);

// Both structs have one size, and the fields that are read have one place.
#define SAME_STRUCT(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs))
#define SAME_FIELD(ours, our_field, theirs, their_field)                     \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field)); \
  static_assert(sizeof(ours::our_field) == sizeof(theirs::their_field))
#define SAME_TYPE(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

SAME_TYPE(kApplicationInfo, VK_STRUCTURE_TYPE_APPLICATION_INFO);
SAME_TYPE(kInstanceCreateInfo, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
SAME_TYPE(kPhysicalDeviceProperties2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
SAME_TYPE(kPhysicalDeviceMemoryProperties2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
SAME_TYPE(kPhysicalDeviceIdProperties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
SAME_TYPE(kPhysicalDeviceDriverProperties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
SAME_TYPE(kPhysicalDevicePciBusInfoProperties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
SAME_TYPE(kPhysicalDeviceMemoryBudgetProperties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);

SAME_STRUCT(ApplicationInfo, VkApplicationInfo);
SAME_FIELD(ApplicationInfo, api_version, VkApplicationInfo, apiVersion);
SAME_STRUCT(InstanceCreateInfo, VkInstanceCreateInfo);
SAME_FIELD(InstanceCreateInfo, application, VkInstanceCreateInfo, pApplicationInfo);
SAME_FIELD(InstanceCreateInfo, extensions, VkInstanceCreateInfo, ppEnabledExtensionNames);
SAME_STRUCT(ExtensionProperties, VkExtensionProperties);
SAME_FIELD(ExtensionProperties, name, VkExtensionProperties, extensionName);
SAME_STRUCT(PhysicalDeviceProperties, VkPhysicalDeviceProperties);
SAME_FIELD(PhysicalDeviceProperties, device_type, VkPhysicalDeviceProperties, deviceType);
SAME_FIELD(PhysicalDeviceProperties, name, VkPhysicalDeviceProperties, deviceName);
SAME_FIELD(PhysicalDeviceProperties, limits, VkPhysicalDeviceProperties, limits);
SAME_STRUCT(PhysicalDeviceProperties2, VkPhysicalDeviceProperties2);
SAME_FIELD(PhysicalDeviceProperties2, properties, VkPhysicalDeviceProperties2, properties);
SAME_STRUCT(PhysicalDeviceIdProperties, VkPhysicalDeviceIDProperties);
SAME_FIELD(PhysicalDeviceIdProperties, device_uuid, VkPhysicalDeviceIDProperties, deviceUUID);
SAME_STRUCT(PhysicalDeviceDriverProperties, VkPhysicalDeviceDriverProperties);
SAME_FIELD(PhysicalDeviceDriverProperties, driver_name, VkPhysicalDeviceDriverProperties, driverName);
SAME_FIELD(PhysicalDeviceDriverProperties, driver_info, VkPhysicalDeviceDriverProperties, driverInfo);
SAME_STRUCT(PhysicalDevicePciBusInfoProperties, VkPhysicalDevicePCIBusInfoPropertiesEXT);
SAME_FIELD(PhysicalDevicePciBusInfoProperties, function, VkPhysicalDevicePCIBusInfoPropertiesEXT, pciFunction);
SAME_STRUCT(PhysicalDeviceMemoryProperties2, VkPhysicalDeviceMemoryProperties2);
SAME_FIELD(PhysicalDeviceMemoryProperties2, memory, VkPhysicalDeviceMemoryProperties2, memoryProperties);
SAME_FIELD(PhysicalDeviceMemoryProperties, heaps, VkPhysicalDeviceMemoryProperties, memoryHeaps);
SAME_FIELD(MemoryHeap, flags, VkMemoryHeap, flags);
SAME_STRUCT(PhysicalDeviceMemoryBudgetProperties, VkPhysicalDeviceMemoryBudgetPropertiesEXT);
SAME_FIELD(PhysicalDeviceMemoryBudgetProperties, usage, VkPhysicalDeviceMemoryBudgetPropertiesEXT, heapUsage);

TEST(VulkanAbi, IsThatOfTheHeaders) { SUCCEED() << "the compiler has compared them"; }

}  // namespace
}  // namespace inferflux::hardware::vulkan
#else
TEST(VulkanAbi, IsThatOfTheHeaders) { GTEST_SKIP() << "libvulkan-dev is not installed"; }
#endif
