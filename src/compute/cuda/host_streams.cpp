#include "compute/cuda/host_streams.h"

#include <algorithm>

#include "base/mix64.h"

namespace inferflux::cuda {
namespace {

template <class T>
void Erase(std::vector<std::unique_ptr<T>>& all, const T* one) {
  std::erase_if(all, [&](const auto& each) { return each.get() == one; });
}

tl::unexpected<Error> Broken(HostCapture& capture, std::string why) {
  capture.broken = why;
  return Fail(ErrorCode::kInvalidArgument, "the capture of a stream is broken: {}", why);
}

}  // namespace

template <class T>
bool HostStreams::Has(const std::vector<std::unique_ptr<T>>& all, const T* one) {
  return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.get() == one; });
}

HostStream* HostStreams::Create(HostRuntime* runtime) {
  return streams_.emplace_back(std::make_unique<HostStream>(HostStream{.runtime = runtime})).get();
}

HostEvent* HostStreams::CreateEvent() { return events_.emplace_back(std::make_unique<HostEvent>()).get(); }

Status HostStreams::Destroy(HostStream* stream) {
  auto drained = Synchronize(stream);
  Erase(streams_, stream);
  return drained;
}

Status HostStreams::Destroy(HostEvent* event) {
  if (!Has(events_, event)) return Fail(ErrorCode::kInvalidArgument, "no such event");
  if (auto done = Drain([&] { return event->done == event->records; }); !done) return done;
  Erase(events_, event);
  return {};
}

Status HostStreams::Destroy(std::vector<HostWork>* graph) {
  if (!Has(graphs_, graph)) return Fail(ErrorCode::kInvalidArgument, "no such graph");
  Erase(graphs_, graph);
  return {};
}

bool HostStreams::Step() {
  random_ += 0x9e3779b97f4a7c15u;
  const size_t first = streams_.empty() ? 0 : Mix64(random_) % streams_.size();
  for (size_t i = 0; i < streams_.size(); ++i) {
    HostStream& stream = *streams_[(first + i) % streams_.size()];
    if (stream.queue.empty()) continue;
    HostWork& work = stream.queue.front();
    if (work.event != nullptr && work.event->done < work.record) continue;
    if (work.run && sticky_) sticky_ = work.run();
    if (work.always) work.always();
    stream.queue.pop_front();
    return true;
  }
  return false;
}

Status HostStreams::Drain(const std::function<bool()>& until) {
  while (!until()) {
    if (!Step()) return Fail(ErrorCode::kInternal, "streams wait for events that are never recorded");
  }
  return sticky_;
}

Status HostStreams::Put(HostStream* stream, std::function<Status()> run) {
  if (!Has(streams_, stream)) return Fail(ErrorCode::kInvalidArgument, "no such stream");
  if (!sticky_) return sticky_;
  if (stream->capture) {
    stream->capture->work.push_back({std::move(run)});
    ++stream->capture->lengths[stream];
    return {};
  }
  stream->queue.push_back({std::move(run)});
  random_ += 0x9e3779b97f4a7c15u;
  for (uint64_t steps = Mix64(random_) % 3; steps > 0 && Step(); --steps) continue;
  return {};
}

Status HostStreams::Record(HostEvent* event, HostStream* stream) {
  if (!Has(streams_, stream) || !Has(events_, event))
    return Fail(ErrorCode::kInvalidArgument, "no such stream or event");
  event->capture = stream->capture;
  if (HostCapture* capture = stream->capture.get()) {
    event->before = capture->before[stream];
    event->before[stream] = capture->lengths[stream];
    return {};
  }
  const uint64_t record = ++event->records;
  stream->queue.push_back({.always = [event, record] {
    event->done = record;
    event->at = std::chrono::steady_clock::now();
  }});
  return {};
}

Status HostStreams::Wait(HostStream* stream, HostEvent* event) {
  if (!Has(streams_, stream) || !Has(events_, event))
    return Fail(ErrorCode::kInvalidArgument, "no such stream or event");
  if (stream->capture && event->capture != stream->capture) {
    return Broken(*stream->capture, "it waits for an event that was recorded outside of it");
  }
  if (event->capture) {
    if (!event->capture->broken.empty() || event->capture->origin == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "the event was recorded in a capture that has ended");
    }
    stream->capture = event->capture;
    for (const auto& [other, length] : event->before) {
      size_t& known = event->capture->before[stream][other];
      known = std::max(known, length);
    }
    event->capture->lengths.try_emplace(stream, 0);
    return {};
  }
  stream->queue.push_back({.event = event, .record = event->records});
  return {};
}

Status HostStreams::Synchronize(HostStream* stream) {
  if (!Has(streams_, stream)) return Fail(ErrorCode::kInvalidArgument, "no such stream");
  if (stream->capture) return Broken(*stream->capture, "the host waits for a stream that captures");
  return Drain([&] { return stream->queue.empty(); });
}

Status HostStreams::Synchronize(HostEvent* event) {
  if (!Has(events_, event)) return Fail(ErrorCode::kInvalidArgument, "no such event");
  if (event->capture) return Broken(*event->capture, "the host waits for an event of a stream that captures");
  return Drain([&] { return event->done == event->records; });
}

Status HostStreams::SynchronizeAll() {
  return Drain(
      [&] { return std::all_of(streams_.begin(), streams_.end(), [](const auto& s) { return s->queue.empty(); }); });
}

Status HostStreams::RefuseInCapture(const char* call) {
  for (const auto& stream : streams_) {
    if (stream->capture) return Broken(*stream->capture, fmt::format("{} is no work of a stream", call));
  }
  return sticky_;
}

Status HostStreams::BeginCapture(HostStream* stream) {
  if (!Has(streams_, stream)) return Fail(ErrorCode::kInvalidArgument, "no such stream");
  if (stream->capture) return Broken(*stream->capture, "a second capture begins on the stream");
  stream->capture = std::make_shared<HostCapture>();
  stream->capture->origin = stream;
  stream->capture->lengths[stream] = 0;
  return {};
}

Result<std::vector<HostWork>*> HostStreams::EndCapture(HostStream* stream) {
  if (!Has(streams_, stream) || !stream->capture || stream->capture->origin != stream) {
    return Fail(ErrorCode::kInvalidArgument, "no capture was begun on this stream");
  }
  const std::shared_ptr<HostCapture> capture = stream->capture;
  for (const auto& [other, length] : capture->lengths) {
    if (other != stream && capture->before[stream][other] < length && capture->broken.empty()) {
      capture->broken = "a stream that takes part was not waited for";
    }
  }
  for (const auto& other : streams_) {
    if (other->capture == capture) other->capture.reset();
  }
  capture->origin = nullptr;
  if (!capture->broken.empty()) return Broken(*capture, capture->broken);
  return graphs_.emplace_back(std::make_unique<std::vector<HostWork>>(std::move(capture->work))).get();
}

Status HostStreams::Replay(std::vector<HostWork>* graph, HostStream* stream) {
  if (!Has(graphs_, graph)) return Fail(ErrorCode::kInvalidArgument, "no such graph");
  // One after the other in the order of recording, which is one that the streams and events of the capture allow.
  return Put(stream, [work = *graph]() -> Status {
    for (const HostWork& each : work) {
      if (auto done = each.run(); !done) return done;
    }
    return {};
  });
}

}  // namespace inferflux::cuda
