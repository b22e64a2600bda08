// inferctl complete: continues a text, without a chat template.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferctl/chat/sampling_flags.h"
#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/interrupt.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct CompleteFlags {
  SamplingFlags sampling;
  std::vector<std::string> words;
};

int RunComplete(const CommandContext& context, const CompleteFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  json::object body = flags.sampling.Fields();
  const auto prompt = TextOf(flags.words.empty() ? "-" : fmt::format("{}", fmt::join(flags.words, " ")));
  if (!prompt) return Complain(prompt.error());
  body["prompt"] = *prompt;
  const InterruptScope scope;
  client->http().should_stop = InterruptScope::Interrupted;
  if (context.json) {
    const auto answer = client->Post("/v1/completions", std::move(body));
    return answer ? PrintJson(*answer) : Complain(answer.error());
  }
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
  complete.Add("PROMPT", flags->words, "the text; without it, or with '-', it is read from standard input");
  flags->sampling.AddTo(complete);
  return [flags](const CommandContext& context) { return RunComplete(context, *flags); };
}

}  // namespace inferflux::apps
