// A fake of Metal and of the Objective-C runtime, with two devices. An object is its own name; a selector is its text.
#include <cstdint>
#include <cstring>
#include <string>

namespace {

struct Answers {
  int pools = 0;
  int released = 0;
  bool devices = true;
  bool names = true;
};

Answers& State() {
  static Answers answers;
  return answers;
}

const char kAll[] = "all";
const char kMini[] = "Apple M4";
const char kPro[] = "AMD Radeon Pro 5500M";

}  // namespace

extern "C" {

Answers* FakeMetalAnswers() { return &State(); }

const char* sel_registerName(const char* name) { return name; }
void* objc_autoreleasePoolPush() {
  ++State().pools;
  return &State();
}
void objc_autoreleasePoolPop(void* pool) {
  if (pool == &State()) --State().pools;
}
const char* MTLCopyAllDevices() { return State().devices ? kAll : nullptr; }

uint64_t objc_msgSend(const char* object, const char* selector, uint64_t argument) {
  const std::string method = selector;
  if (object == kAll) {
    if (method == "count") return 2;
    if (method == "release") ++State().released;
    return method == "objectAtIndex:" ? reinterpret_cast<uint64_t>(argument == 0 ? kMini : kPro) : 0;
  }
  if (method == "name" && !State().names) return 0;
  if (method == "name" || method == "UTF8String") return reinterpret_cast<uint64_t>(object);
  if (method == "hasUnifiedMemory") return object == kMini ? 1 : 0;
  if (method == "recommendedMaxWorkingSetSize") return uint64_t{12} << 30;
  if (method == "currentAllocatedSize") return uint64_t{object == kMini ? 2u : 13u} << 30;
  return 0;
}
}
