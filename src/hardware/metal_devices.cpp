#include "hardware/metal_devices.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "hardware/driver_values.h"
#include "hardware/shared_library.h"

namespace inferflux::hardware {
namespace {

struct MetalObject;    // id
struct MetalSelector;  // SEL

// objc_msgSend, called as a method of each type: its own declaration takes no arguments.
struct ObjectiveC {
  void (*send)() = nullptr;
  MetalSelector* (*selector)(const char*) = nullptr;
  void* (*push_pool)() = nullptr;
  void (*pop_pool)(void*) = nullptr;

  template <class Out, class... Arguments>
  Out Send(MetalObject* object, const char* method, Arguments... arguments) const {
    const auto call = reinterpret_cast<Out (*)(MetalObject*, MetalSelector*, Arguments...)>(send);
    return call(object, selector(method), arguments...);
  }
};

std::optional<ObjectiveC> FindObjectiveC(const std::string& name) {
  const auto library = SharedLibrary::Open(name);
  if (!library) return std::nullopt;
  const ObjectiveC out{.send = library->Find<void()>("objc_msgSend"),
                       .selector = library->Find<MetalSelector*(const char*)>("sel_registerName"),
                       .push_pool = library->Find<void*()>("objc_autoreleasePoolPush"),
                       .pop_pool = library->Find<void(void*)>("objc_autoreleasePoolPop")};
  if (out.send == nullptr || out.selector == nullptr || out.push_pool == nullptr || out.pop_pool == nullptr) {
    return std::nullopt;
  }
  return out;
}

// Metal gives no UUID and no PCI address. Its memory is what it recommends to use, of which some may be allocated.
Device ReadMetalDevice(const ObjectiveC& runtime, MetalObject* device) {
  Device out{.kind = DriverKind::kMetal, .name = {}, .type = "discrete", .uuid = {}, .pci_address = {}};
  if (MetalObject* name = runtime.Send<MetalObject*>(device, "name"); name != nullptr) {
    if (const char* text = runtime.Send<const char*>(name, "UTF8String"); text != nullptr) out.name = text;
  }
  if (runtime.Send<bool>(device, "hasUnifiedMemory")) out.type = "integrated";
  const auto total = runtime.Send<uint64_t>(device, "recommendedMaxWorkingSetSize");
  const auto used = runtime.Send<uint64_t>(device, "currentAllocatedSize");
  out.total_bytes = BoundedBytes(total);
  out.free_bytes = BoundedBytes(total - std::min(used, total));
  return out;
}

}  // namespace

DriverReport MetalDevices(const std::string& metal, const std::string& objc) {
  DriverReport out{.kind = DriverKind::kMetal};
  const auto library = SharedLibrary::Open(metal);
  if (!library) return out;
  const auto runtime = FindObjectiveC(objc);
  MetalObject* (*copy_all)() = library->Find<MetalObject*()>("MTLCopyAllDevices");
  if (!runtime || copy_all == nullptr) {
    out.state = DriverState::kFailed;
    out.reason = metal + " has no MTLCopyAllDevices, or the Objective-C runtime is missing";
    return out;
  }
  void* pool = runtime->push_pool();
  MetalObject* all = copy_all();
  const uint64_t count = all != nullptr ? runtime->Send<uint64_t>(all, "count") : 0;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMostDevices); ++i) {
    if (MetalObject* device = runtime->Send<MetalObject*>(all, "objectAtIndex:", i); device != nullptr) {
      out.devices.push_back(ReadMetalDevice(*runtime, device));
    }
  }
  if (all != nullptr) runtime->Send<void>(all, "release");
  runtime->pop_pool(pool);
  out.state = out.devices.empty() ? DriverState::kNone : DriverState::kPresent;
  return out;
}

}  // namespace inferflux::hardware
