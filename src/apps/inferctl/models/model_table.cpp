#include "apps/inferctl/models/model_table.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "apps/inferctl/client/json_member.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

std::string State(const json::value& model) {
  const json::value* progress = Member(model, "progress");
  if (Show(model, "state") == "failed") return "failed";
  const std::string status = Show(model, "status", "value");  // of a model that is not loaded
  if (status != "-" && status != "loaded") return status;
  if (progress == nullptr || !progress->is_double()) return Show(model, "ready");
  return fmt::format("{:.0f}%", 100 * progress->get_double());
}

}  // namespace

int PrintModelTable(const json::value& list) {
  const json::value* data = Member(list, "data");
  if (data == nullptr || !data->is_array()) return Complain("the server's list of models has an unknown form");
  constexpr const char* kRow = "{:24} {:9} {:10} {:10} {:9} {:8} {:10} {:8} {:>8}\n";
  fmt::print(fmt::runtime(kRow), "ID", "EXPOSED", "REQUESTED", "PROVIDER", "FALLBACK", "READY", "FAMILY", "WEIGHTS",
             "CONTEXT");
  for (const json::value& model : data->get_array()) {
    const bool loading = Member(model, "backend_exposure") == nullptr;  // or failed to
    fmt::print(fmt::runtime(kRow), Show(model, "id"),
               loading ? Show(model, "backend") : Show(model, "backend_exposure", "exposed_backend"),
               loading ? Show(model, "requested_backend") : Show(model, "backend_exposure", "requested_backend"),
               loading ? Show(model, "provider") : Show(model, "backend_exposure", "provider"),
               Show(model, "backend_exposure", "fallback"), State(model), Show(model, "details", "architecture"),
               Show(model, "details", "quantization"), Show(model, "details", "context"));
  }
  return kOk;
}

}  // namespace inferflux::apps
