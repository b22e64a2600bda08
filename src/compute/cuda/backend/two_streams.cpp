#include <utility>

#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {
namespace {

Result<std::unique_ptr<Cuda::Context::Side>> MakeSide(Cuda::Context& context) {
  cuda::Runtime& runtime = *context.runtime;
  auto side = std::make_unique<Cuda::Context::Side>();
  auto stream = runtime.CreateStream();
  if (!stream) return Forward(stream);
  side->stream = *stream;
  side->arena = std::make_unique<cuda::DeviceArena>(runtime);
  side->arena->set_neighbour(context.arena.get());
  side->staging = std::make_unique<cuda::Staging>(runtime, *stream);
  Status made = side->staging->Open();
  for (cuda::Event* event : {&side->forked, &side->done}) {
    if (!made) break;
    auto created = runtime.CreateEvent();
    if (created) *event = *created;
    made = created.map([](const cuda::Event&) {});
  }
  if (made) return side;
  side->staging.reset();
  (void)runtime.Destroy(side->stream);
  return Forward(made);
}

}  // namespace

Status Cuda::Fork(Context& context) {
  if (context.side == nullptr) {
    auto side = MakeSide(context);
    if (!side) return Forward(side, "a second stream");
    context.side = std::move(*side);
    context.arena->set_neighbour(context.side->arena.get());
  }
  const Context::Side& side = *context.side;
  if (auto recorded = context.runtime->Record(side.forked, context.stream); !recorded) return recorded;
  return context.runtime->Wait(side.stream, side.forked);
}

void Cuda::SwapStreams(Context& context) {
  std::swap(context.stream, context.side->stream);
  std::swap(context.arena, context.side->arena);
  std::swap(context.staging, context.side->staging);
}

Status Cuda::Join(Context& context) {
  const Context::Side& side = *context.side;
  if (auto recorded = context.runtime->Record(side.done, side.stream); !recorded) return recorded;
  return context.runtime->Wait(context.stream, side.done);
}

}  // namespace inferflux::compute
