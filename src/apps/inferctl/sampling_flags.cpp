#include "apps/inferctl/sampling_flags.h"

#include <boost/json/array.hpp>

namespace inferflux::apps {

void SamplingFlags::AddTo(Command& command) {
  command.Add("--model", model, "which of the server's models; without it, the server's default");
  command.Add("--max-tokens", max_tokens, "stop after this many tokens");
  command.Add("--temperature", temperature, "0 always takes the likeliest token; the API's default is 1");
  command.Add("--top-p", top_p, "choose among the likeliest tokens that together reach this probability");
  command.Add("--seed", seed, "the same seed gives the same answer");
  command.Add("--stop", stop, "end the answer before this text; may be repeated, up to 4").OneEachTime();
}

boost::json::object SamplingFlags::Fields() const {
  boost::json::object out;
  if (!model.empty()) out["model"] = model;
  if (max_tokens) out["max_tokens"] = *max_tokens;
  if (temperature) out["temperature"] = *temperature;
  if (top_p) out["top_p"] = *top_p;
  if (seed) out["seed"] = *seed;
  if (!stop.empty()) {
    boost::json::array list;
    for (const std::string& text : stop) list.push_back(boost::json::string(text));
    out["stop"] = std::move(list);
  }
  return out;
}

}  // namespace inferflux::apps
