#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {

std::vector<float> Cuda::Read(Context& context, View x) {
  std::vector<float> out(static_cast<size_t>(x.rows * x.cols));
  if (out.empty()) return out;
  Buffer dense;  // of rows with gaps
  if (x.rows > 1 && x.stride != x.cols) {
    dense = Scale(context, x, 1.0f);
    x = dense;
  }
  cuda_ops::Must(context.runtime->CopyToHost(out.data(), x.data, out.size() * sizeof(float), context.stream));
  cuda_ops::Wait(context);
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
