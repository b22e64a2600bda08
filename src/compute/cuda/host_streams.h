// Streams, events and graphs of the host runtime. Work waits in queues. A call that waits for some of it runs all
// queues, in a random order that streams and events allow.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {

class HostRuntime;
struct HostStream;
struct HostCapture;

struct HostEvent {
  uint64_t records = 0;  // that were put on a stream
  uint64_t done = 0;     // the last of them that has happened
  std::chrono::steady_clock::time_point at;
  // Of the last record, where it was captured: the capture, and how much of each stream is before it.
  std::shared_ptr<HostCapture> capture;
  std::map<const HostStream*, size_t> before;
};

struct HostWork {
  std::function<Status()> run;             // not called any more after an error
  std::function<void()> always = nullptr;  // called even then
  const HostEvent* event = nullptr;        // the work may begin once this event
  uint64_t record = 0;                     // has happened as often
};

// What one BeginCapture records. Streams that wait for its events take part, and have to be waited for before its end.
struct HostCapture {
  const HostStream* origin = nullptr;
  std::vector<HostWork> work;
  std::map<const HostStream*, size_t> lengths;                              // work of each stream
  std::map<const HostStream*, std::map<const HostStream*, size_t>> before;  // what each stream has waited for
  std::string broken;                                                       // why it has failed, or empty
};

struct HostStream {
  HostRuntime* runtime = nullptr;  // a stream's handle names its device, as CUDA's does
  std::deque<HostWork> queue;
  std::shared_ptr<HostCapture> capture;
};

class HostStreams {
 public:
  explicit HostStreams(uint64_t seed) : random_(seed) {}

  HostStream* Create(HostRuntime* runtime);
  Status Destroy(HostStream* stream);
  HostEvent* CreateEvent();
  Status Destroy(HostEvent* event);

  // Puts work on a stream, or into its capture. Some other work may run now.
  Status Put(HostStream* stream, std::function<Status()> run);
  Status Record(HostEvent* event, HostStream* stream);
  Status Wait(HostStream* stream, HostEvent* event);
  Status Synchronize(HostStream* stream);
  Status Synchronize(HostEvent* event);
  Status SynchronizeAll();

  Status BeginCapture(HostStream* stream);
  Result<std::vector<HostWork>*> EndCapture(HostStream* stream);
  Status Replay(std::vector<HostWork>* graph, HostStream* stream);
  Status Destroy(std::vector<HostWork>* graph);

  // Refuses what CUDA refuses while a stream captures, and breaks the capture.
  Status RefuseInCapture(const char* call);
  // The first error of any work: every later call's too.
  Status sticky() const { return sticky_; }

 private:
  bool Step();  // runs one piece of work that may begin; false where there is none
  Status Drain(const std::function<bool()>& until);
  template <class T>
  static bool Has(const std::vector<std::unique_ptr<T>>& all, const T* one);

  uint64_t random_;
  std::vector<std::unique_ptr<HostStream>> streams_;
  std::vector<std::unique_ptr<HostEvent>> events_;
  std::vector<std::unique_ptr<std::vector<HostWork>>> graphs_;
  Status sticky_;
};

}  // namespace inferflux::cuda
