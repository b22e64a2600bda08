// Helpers of the template tests.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template.h"

namespace inferflux::text {

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string JoinSpans(const std::vector<TextSpan>& spans) {
  std::string text;
  for (const TextSpan& span : spans) text += span.text;
  return text;
}

inline Result<std::vector<TextSpan>> RenderSpans(std::string_view source, const boost::json::object& context = {},
                                                 const RenderOptions& options = {}) {
  auto compiled = ChatTemplate::Compile(source);
  if (!compiled) return Forward(compiled);
  return compiled->Render(context, options);
}

inline Result<std::string> RenderText(std::string_view source, const boost::json::object& context = {},
                                      const RenderOptions& options = {}) {
  auto spans = RenderSpans(source, context, options);
  if (!spans) return Forward(spans);
  return JoinSpans(*spans);
}

}  // namespace inferflux::text
