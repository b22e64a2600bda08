// What some devices can do beyond computing a model, each a refining concept. The native engine tests for each with `if
// constexpr`, and compute/capabilities.h reports them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "compute/backend.h"
#include "compute/sampling.h"

namespace inferflux::compute {

// A backend whose KV the host can address, so that KV can be saved from an engine and restored.
template <class B, class E>
concept AddressableKv = PagedKv<B, E> &&
    requires(typename B::template KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit) {
  // Visits all keys and values of the block, and their scales, always in the same order. The visitor may write to them.
  { B::template VisitKvBlock<E>(cache, block, visit) } -> std::same_as<void>;
};

// A backend that samples tokens on the device, so that logits need not reach the host. logits: [rows.size(), vocab].
// Results are those of engine/sampling, up to rounding. Rows that CanSample refuses are sampled on the host.
template <class B>
concept DeviceSampling = Backend<B> && requires(typename B::Context& context, typename B::View logits,
                                                const SampleRow& row, std::span<const SampleRow> rows) {
  { B::CanSample(row) } -> std::same_as<bool>;
  { B::Sample(context, logits, rows) } -> std::same_as<Result<std::vector<SampledToken>>>;
};

// A backend whose device goes on while the host does something else: the host asks for what it needs, and takes it
// later. Begin puts the work on the device and returns; what it was given may change then. Finish waits, for this and
// for nothing that was asked for later. What is dropped instead is waited for. Results are those of Read and Sample.
template <class B>
concept LateResults = DeviceSampling<B> &&
    requires(typename B::Context& context, typename B::View view, std::span<const SampleRow> rows,
             typename B::LateRead read, typename B::LateTokens tokens) {
  { B::BeginRead(context, view) } -> std::same_as<typename B::LateRead>;
  { B::FinishRead(context, std::move(read)) } -> std::same_as<std::vector<float>>;
  { B::BeginSample(context, view, rows) } -> std::same_as<Result<typename B::LateTokens>>;
  { B::FinishSample(context, std::move(tokens)) } -> std::same_as<Result<std::vector<SampledToken>>>;
};

// A backend that computes two parts of a step side by side, on a stream each.
// Fork: what is put on the second stream from now on comes after all that is on the first. SwapStreams: operations go
// to the other one; buffers may only be used by operations of the stream that they were made on. Join: what is put on
// the first stream from now on comes after all that is on the second.
template <class B>
concept TwoStreams = LateResults<B> && requires(typename B::Context& context) {
  { B::Fork(context) } -> std::same_as<Status>;
  { B::SwapStreams(context) } -> std::same_as<void>;
  { B::Join(context) } -> std::same_as<Status>;
};

// A backend with a device clock. A mark's time is when the work submitted before it has finished. SecondsBetween waits
// for the second mark.
template <class B>
concept DeviceTimer = Backend<B> && requires(typename B::Context& context, const typename B::TimeMark& mark) {
  { B::MarkTime(context) } -> std::same_as<typename B::TimeMark>;
  { B::SecondsBetween(mark, mark) } -> std::same_as<double>;
};

// What a device does at best, in units a second.
struct DeviceRates {
  double copy_bytes = 0.0;         // of its own memory, read and written
  double tensor_operations = 0.0;  // of BF16 products of large matrices; a multiply-add counts as two
};

// A backend that measures its device, for about so many seconds. The device needs some free memory for it.
template <class B>
concept MeasuresRates = Backend<B> && requires(typename B::Context& context, double seconds) {
  { B::MeasureRates(context, seconds) } -> std::same_as<Result<DeviceRates>>;
};

// A backend that records the operations of a step of one token a sequence, and replays them on other inputs (CUDA
// graphs), with the same results to the last bit.
//
// GraphRows: to how many rows a step of so many is padded, so that few graphs serve all steps. The same kernels compute
// both. 0: steps of so many rows have no graphs.
// Reload: puts another step in the place of a loaded one. It has as many of everything, and no sequence longer than
// most_tokens.
// Capture: runs `step`, and runs it again while it is recorded. It may only use batches that were loaded before, and
// what it takes from the host has to be the same each time. An error is a refusal: nothing has changed but what the
// step itself stored, and the step can be run without a graph. Replay: the result of the recorded step, which the next
// Capture or Replay overwrites.
template <class B>
concept GraphCapture = Backend<B> &&
    requires(typename B::Context& context, typename B::Batch& batch, const StepGeometry& geometry,
             FunctionRef<typename B::Buffer()> step, const typename B::Graph& graph, int32_t rows) {
  { B::GraphRows(rows) } -> std::same_as<int32_t>;
  { B::Reload(context, batch, geometry) } -> std::same_as<void>;
  { B::Capture(context, step) } -> std::same_as<Result<typename B::Graph>>;
  { B::Replay(context, graph) } -> std::same_as<typename B::View>;
};

// A backend that replaces token embeddings by rows from another source, such as an image encoder.
template <class B>
concept EmbeddingInputs = Backend<B> &&
    requires(typename B::Context& context, typename B::View x, std::span<const int32_t> rows, typename B::View values) {
  { B::ReplaceRows(context, x, rows, values) } -> std::same_as<typename B::Buffer>;
};

// A backend that stores some weights in another type than the file's: the memory that takes, one line per type.
template <class B>
concept LoadNotes = Backend<B> && requires(const typename B::Context& context) {
  { B::LoadNotes(context) } -> std::same_as<std::vector<std::string>>;
};

}  // namespace inferflux::compute
