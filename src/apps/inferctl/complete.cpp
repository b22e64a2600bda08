// inferctl complete: continues a text, without a chat template.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "apps/inferctl/api_client.h"
#include "apps/inferctl/command.h"
#include "apps/inferctl/interrupt.h"
#include "apps/inferctl/sampling_flags.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct CompleteFlags {
  SamplingFlags sampling;
  std::string prompt = "-";
};

int RunComplete(const CommandContext& context, const CompleteFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  json::object body = flags.sampling.Fields();
  body["prompt"] = flags.prompt == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : flags.prompt;
  const InterruptScope scope;
  client->http().should_stop = InterruptScope::Interrupted;
  const Status status = client->Stream("/v1/completions", std::move(body), [](const json::object& chunk) {
    const json::value* choices = chunk.if_contains("choices");
    if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return;
    const json::object* choice = choices->get_array().front().if_object();
    const json::value* text = choice == nullptr ? nullptr : choice->if_contains("text");
    if (text != nullptr && text->is_string()) std::cout << std::string_view(text->get_string()) << std::flush;
  });
  std::cout << std::endl;
  return status ? kOk : Complain(status.error());
}

}  // namespace

Run AddComplete(Command& app) {
  auto flags = std::make_shared<CompleteFlags>();
  Command complete = app.AddCommand("complete", "continue a text, without a chat template");
  complete.Add("PROMPT", flags->prompt, "the text; without it, or with '-', it is read from standard input");
  flags->sampling.AddTo(complete);
  return [flags](const CommandContext& context) { return RunComplete(context, *flags); };
}

}  // namespace inferflux::apps
