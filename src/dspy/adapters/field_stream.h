// Cuts an answer into fields while it grows. The pieces of a field, one after the other, are its text without white
// space at both ends; nothing is handed out that could still be part of a marker.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dspy/signature/example.h"
#include "dspy/signature/signature.h"

namespace inferflux::dspy {

class FieldStream {
 public:
  using Emit = std::function<void(std::string_view field, std::string_view text)>;

  virtual ~FieldStream() = default;
  // Pieces may end anywhere, also within a character.
  virtual void Feed(std::string_view piece, const Emit& emit) = 0;
  virtual void Finish(const Emit& emit) = 0;
};

// What a line that begins with white space removed says about fields.
struct MarkerMatch {
  enum class Kind : uint8_t { kNone, kPartial, kMarker };
  Kind kind = Kind::kNone;
  std::string field = {};  // of a marker
  size_t size = 0;         // of a marker, in bytes
};
using MatchMarker = std::function<MarkerMatch(std::string_view line)>;

// "[[ ## name ## ]]", of any name (dspy's field_header_pattern).
MarkerMatch MatchHeader(std::string_view line);
// "name:" or the field's prefix, in any case of ASCII letters.
MatchMarker NameMarkers(const Signature& signature);

// Fields that begin with a marker at the beginning of a line. The first of a name counts.
std::unique_ptr<FieldStream> NewMarkerStream(const Signature& signature, MatchMarker match);
// The members of the first JSON object. Texts are handed out decoded, other values as they are written.
std::unique_ptr<FieldStream> NewJsonStream(const Signature& signature);

// The whole of an answer at once: text by field, of those that are there.
Values CutFields(FieldStream& stream, std::string_view text);

}  // namespace inferflux::dspy
