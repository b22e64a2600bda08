// Any bytes as an uploaded form and as the input file of a batch. The parts of a form must be ranges of the
// input, in order and without overlap; the lines of a batch must have ids of their own and bodies that parse.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "cpu_limit.h"
#include "server/batches/batch_input.h"
#include "server/files/multipart.h"
#include "server/request/json_body.h"

namespace {

using namespace inferflux::server;

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadForm(std::string_view type, std::string_view body) {
  const auto parts = ParseMultipart(type, body);
  if (!parts) return Require(parts.error().status == 400 && !parts.error().message.empty());
  const char* last = body.data();
  for (const FormPart& part : *parts) {
    Require(!part.name.empty());
    if (part.content.empty()) continue;
    Require(part.content.data() >= last && part.content.data() + part.content.size() <= body.data() + body.size());
    last = part.content.data() + part.content.size();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadForm("multipart/form-data; boundary=x", text);
  const size_t line = text.find('\n');  // the first line as the header
  if (line != std::string_view::npos) ReadForm(text.substr(0, line), text.substr(line + 1));
  const BatchInput input = ParseBatchInput(text, "/v1/embeddings");
  Require(!input.lines.empty() || !input.errors.empty());
  std::set<std::string> ids;
  for (const BatchLine& each : input.lines) {
    Require(ids.insert(each.custom_id).second);
    Require(ParseJsonBody(each.request).has_value());
  }
  return 0;
}
