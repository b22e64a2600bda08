#include "apps/inferctl/bench/load_client.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value_from.hpp>
#include <string_view>

namespace inferflux::apps {
namespace json = boost::json;
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

int64_t Integer(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

json::object Body(const LoadShape& shape, const std::vector<int32_t>& prompt) {
  json::object out;
  if (!shape.model.empty()) out["model"] = shape.model;
  out["prompt"] = json::value_from(prompt);
  out["max_tokens"] = shape.max_tokens;
  out["temperature"] = 0;
  out["ignore_eos"] = true;
  out["stream_options"] = {{"include_usage", true}};
  return out;
}

class Watch {
 public:
  explicit Watch(RequestRecord& record) : record_(record) {}

  void Take(const json::object& chunk) {
    if (const json::value* usage = chunk.if_contains("usage"); usage != nullptr && usage->is_object()) {
      TakeUsage(usage->get_object());
    }
    const json::value* choices = chunk.if_contains("choices");
    if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return;
    const json::object* choice = choices->get_array().front().if_object();
    if (choice == nullptr) return;
    if (const json::value* reason = choice->if_contains("finish_reason"); reason != nullptr && reason->is_string()) {
      finish_ = reason->get_string();
    }
    const json::value* text = choice->if_contains("text");
    if (text == nullptr || !text->is_string() || text->get_string().empty()) return;
    if (pieces_++ == 0) {
      record_.first_token = Since(began_);
    } else {
      record_.gaps.push_back(Since(last_));
    }
    last_ = Clock::now();
  }

  std::string Verdict(int32_t max_tokens) const {
    if (pieces_ == 0) return "the answer has no text";
    if (finish_ != "length") return fmt::format("the finish reason is '{}', not 'length'", finish_);
    if (record_.output_tokens != max_tokens) {
      return fmt::format("{} of {} tokens were generated", record_.output_tokens, max_tokens);
    }
    return {};
  }

 private:
  void TakeUsage(const json::object& usage) {
    record_.prompt_tokens = Integer(usage, "prompt_tokens");
    record_.output_tokens = Integer(usage, "completion_tokens");
    const json::value* details = usage.if_contains("prompt_tokens_details");
    if (details != nullptr && details->is_object()) {
      record_.cached_tokens = Integer(details->get_object(), "cached_tokens");
    }
  }

  RequestRecord& record_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point last_{};
  int64_t pieces_ = 0;
  std::string finish_;
};

}  // namespace

RequestRecord RunRequest(ApiClient& client, const LoadShape& shape, const std::vector<int32_t>& prompt) {
  RequestRecord out;
  json::object body = Body(shape, prompt);
  Watch watch(out);
  const Status status =
      client.Stream("/v1/completions", std::move(body), [&](const json::object& chunk) { watch.Take(chunk); });
  out.failure = status ? watch.Verdict(shape.max_tokens) : status.error().message;
  return out;
}

}  // namespace inferflux::apps
