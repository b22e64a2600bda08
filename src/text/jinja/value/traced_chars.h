// Iterates over the characters of a traced text.
#pragma once

#include "text/jinja/value/python_characters.h"
#include "text/jinja/value/traced_text.h"

namespace inferflux::text::jinja {

// Calls visit(byte, CodePoint, trusted) for each character in order.
template <class Visit>
void ForEachChar(const TracedText& text, Visit&& visit) {
  size_t byte = 0;
  for (const TracedText::Run& run : text.runs()) {
    while (byte < run.end) {
      const CodePoint c = DecodeAt(text.view(), byte);
      visit(byte, c, run.trusted);
      byte += c.size;
    }
  }
}

}  // namespace inferflux::text::jinja
