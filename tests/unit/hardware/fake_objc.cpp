// Parts of the Objective-C runtime: each build lacks one function. None of them is called.
extern "C" {

#if !defined(FAKE_OBJC_NO_SEND)
void objc_msgSend() {}
#endif
const char* sel_registerName(const char* name) { return name; }
#if !defined(FAKE_OBJC_NO_POOL)
void* objc_autoreleasePoolPush() { return nullptr; }
#endif
void objc_autoreleasePoolPop(void*) {}
}
