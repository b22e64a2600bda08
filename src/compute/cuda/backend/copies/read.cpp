#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {

namespace {

// x, or a copy without gaps between its rows, which `dense` holds.
Cuda::View Dense(Cuda::Context& context, Cuda::View x, Cuda::Buffer& dense) {
  if (x.rows <= 1 || x.stride == x.cols) return x;
  dense = Cuda::Scale(context, x, 1.0f);
  return dense;
}

}  // namespace

std::vector<float> Cuda::Read(Context& context, View x) {
  std::vector<float> out(static_cast<size_t>(x.rows * x.cols));
  if (out.empty()) return out;
  Buffer dense;
  x = Dense(context, x, dense);
  cuda_ops::Must(context.runtime->CopyToHost(out.data(), x.data, out.size() * sizeof(float), context.stream));
  cuda_ops::Wait(context);
  return out;
}

Cuda::LateRead Cuda::BeginRead(Context& context, View x) {
  if (x.rows * x.cols == 0) return {};
  Buffer dense;
  x = Dense(context, x, dense);
  const auto bytes = static_cast<size_t>(x.rows * x.cols) * sizeof(float);
  return cuda_ops::Must(context.late->Begin(x.data, bytes, context.stream));
}

std::vector<float> Cuda::FinishRead(Context& context, LateRead read) {
  std::vector<float> out(read.bytes() / sizeof(float));
  if (out.empty()) return out;
  cuda_ops::Must(read.Finish(out.data()));
  if (context.devices != nullptr) cuda_ops::Must(context.devices->Check());
  return out;
}

Cuda::TimeMark Cuda::MarkTime(Context& context) {
  cuda::Runtime* runtime = context.runtime.get();
  const cuda::Event event = cuda_ops::Must(runtime->CreateEvent());
  TimeMark mark{runtime, std::shared_ptr<const cuda::Event>(new cuda::Event(event), [runtime](const cuda::Event* of) {
                  (void)runtime->Destroy(*of);  // fails where the device has failed
                  delete of;
                })};
  cuda_ops::Must(runtime->Record(event, context.stream));
  return mark;
}

double Cuda::SecondsBetween(const TimeMark& from, const TimeMark& to) {
  cuda_ops::Must(to.runtime->Synchronize(*to.event));
  return double{cuda_ops::Must(to.runtime->Milliseconds(*from.event, *to.event))} / 1e3;
}

}  // namespace inferflux::compute
