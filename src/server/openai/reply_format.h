// Turns generations into the choices of a reply. One object for each request; it keeps each choice's state between
// events.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/generation.h"

namespace inferflux::server {

class ReplyFormat {
 public:
  virtual ~ReplyFormat() = default;

  virtual std::string_view id_prefix() const = 0;
  virtual std::string_view object_name(bool stream) const = 0;

  // The whole choice, from everything that was generated for it. `all` contains its finish.
  virtual boost::json::object Whole(size_t index, const scheduler::StreamEvent& all) = 0;

  // The tokens of reasoning so far, of all choices; none: this API does not count them.
  virtual std::optional<int32_t> reasoning_tokens() const { return std::nullopt; }

  // A streamed choice: the content of its first chunk (null: no such chunk), and the chunks that an event adds. The
  // event with the finish adds the terminal chunk last.
  virtual boost::json::value Opening(size_t index) = 0;
  virtual void Append(size_t index, const scheduler::StreamEvent& event, boost::json::array& choices) = 0;
};

// "stop" or "length".
std::string_view FinishName(scheduler::FinishReason reason);

}  // namespace inferflux::server
