// An activation on its way through a layer: an owned buffer, or a view of another one that no step has replaced yet.
//
//   Value<B> q = B::Columns(qkv, 0, width);
//   if (norm) q = (*norm)(context, q);
#pragma once

#include <optional>
#include <utility>

#include "compute/backend.h"

namespace inferflux::model {

template <compute::Backend B>
class Value {
 public:
  Value(compute::View<B> view) : view_(view) {}  // NOLINT: implicit; the viewed buffer must outlive it
  Value(compute::Buffer<B> buffer) : buffer_(std::move(buffer)), view_(*buffer_) {}  // NOLINT: implicit

  operator compute::View<B>() const { return view_; }  // NOLINT: implicit

 private:
  std::optional<compute::Buffer<B>> buffer_;
  compute::View<B> view_;
};

}  // namespace inferflux::model
