#include "apps/inferctl/chat/conversation.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "apps/console/output_file.h"
#include "apps/inferctl/client/interrupt.h"
#include "apps/inferctl/client/json_member.h"
#include "apps/inferctl/client/streams.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

constexpr std::string_view kFormat = "inferctl chat 1";
constexpr size_t kMaxMessages = 100'000;

json::object Message(std::string_view role, std::string_view content) {
  json::object out;
  out["role"] = role;
  out["content"] = content;
  return out;
}

const json::value* FirstChoice(const json::value& answer) {
  const json::value* choices = Member(answer, "choices");
  const bool any = choices != nullptr && choices->is_array() && !choices->get_array().empty();
  return any ? &choices->get_array().front() : nullptr;
}

// The text of the first choice, under `part`: "delta" in a stream, "message" in an answer. None if there is none.
std::optional<std::string> TextOf(const json::value& answer, std::string_view part) {
  const json::value* choice = FirstChoice(answer);
  const json::value* holder = choice == nullptr ? nullptr : Member(*choice, part);
  const json::value* content = holder == nullptr ? nullptr : Member(*holder, "content");
  if (content == nullptr || !content->is_string()) return std::nullopt;
  return std::string(content->get_string());
}

// The answer's tokens, in the chunk that has the usage; -1 in all others.
int64_t TokensOf(const json::value& chunk) {
  const json::value* usage = Member(chunk, "usage");
  const json::value* tokens = usage == nullptr ? nullptr : Member(*usage, "completion_tokens");
  return tokens != nullptr && tokens->is_int64() ? tokens->get_int64() : -1;
}

Result<json::object> ReadSaved(const std::string& path) {
  const auto text = ContentsOf(path);
  if (!text) return Forward(text);
  boost::system::error_code error;
  json::value value = json::parse(*text, error);
  if (!error && value.is_object()) {
    const json::value* format = value.get_object().if_contains("format");
    if (format != nullptr && *format == json::value(kFormat)) return std::move(value.get_object());
  }
  return Fail(ErrorCode::kDataLoss, "{} is no saved conversation", path);
}

Result<json::array> MessagesIn(const json::object& saved, const std::string& path) {
  const json::value* list = saved.if_contains("messages");
  if (list == nullptr || !list->is_array() || list->get_array().size() > kMaxMessages)
    return Fail(ErrorCode::kDataLoss, "{} has no list of at most {} messages", path, kMaxMessages);
  json::array out;
  for (const json::value& entry : list->get_array()) {
    const json::object* message = entry.if_object();
    const json::value* role = message == nullptr ? nullptr : message->if_contains("role");
    const json::value* content = message == nullptr ? nullptr : message->if_contains("content");
    if (role == nullptr || content == nullptr || !role->is_string() || !content->is_string())
      return Fail(ErrorCode::kDataLoss, "{}: message {} has no role and content", path, out.size() + 1);
    out.push_back(Message(role->get_string(), content->get_string()));
  }
  return out;
}

}  // namespace

std::string Describe(const AnswerReport& report) {
  if (report.stopped) return fmt::format("(stopped after about {} tokens)", report.tokens);
  // The first token belongs to the time before it.
  const double rate = report.seconds > 0 ? static_cast<double>(report.tokens - 1) / report.seconds : 0.0;
  const std::string speed = report.tokens > 1 && rate > 0 ? fmt::format(", {:.1f} tokens/s", rate) : "";
  return fmt::format("({} {}{}, first after {:.2f} s)", report.tokens, report.tokens == 1 ? "token" : "tokens", speed,
                     report.first);
}

Conversation::Conversation(ApiClient& client, json::object fields, std::string system)
    : client_(client), fields_(std::move(fields)), system_(std::move(system)) {}

void Conversation::Reset() { messages_.clear(); }

void Conversation::SetSystem(std::string system) {
  system_ = std::move(system);
  Reset();
}

std::string Conversation::model() const {
  const json::value* model = fields_.if_contains("model");
  return model != nullptr && model->is_string() ? std::string(model->get_string()) : std::string();
}

json::object Conversation::Body(const std::string& text) const {
  json::array messages;
  if (!system_.empty()) messages.push_back(Message("system", system_));
  messages.insert(messages.end(), messages_.begin(), messages_.end());
  messages.push_back(Message("user", text));
  json::object body = fields_;
  body["messages"] = std::move(messages);
  return body;
}

void Conversation::Keep(const std::string& question, const std::string& answer) {
  messages_.push_back(Message("user", question));
  messages_.push_back(Message("assistant", answer));
}

Status Conversation::Ask(const std::string& text, FunctionRef<void(std::string_view)> on_piece, AnswerReport& report) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  json::object body = Body(text);
  body["stream_options"] = {{"include_usage", true}};
  report = {};
  std::string answer;
  const auto began = Clock::now();
  Clock::time_point first = began;
  const InterruptScope scope;
  client_.http().should_stop = InterruptScope::Interrupted;
  const Status status = client_.Stream("/v1/chat/completions", std::move(body), [&](const json::object& chunk) {
    if (const int64_t tokens = TokensOf(chunk); tokens >= 0) report.tokens = tokens;
    const std::string piece = TextOf(chunk, "delta").value_or("");
    if (piece.empty()) return;
    const auto now = Clock::now();
    if (answer.empty()) first = now;
    report.first = seconds(first - began);
    report.seconds = seconds(now - first);
    ++report.tokens;  // the usage replaces this count
    answer += piece;
    on_piece(piece);
  });
  report.stopped = !status && status.error().code == ErrorCode::kCancelled;
  if (status || report.stopped) Keep(text, answer);
  return status;
}

Result<json::value> Conversation::AskWhole(const std::string& text) {
  const InterruptScope scope;
  client_.http().should_stop = InterruptScope::Interrupted;
  auto answer = client_.Post("/v1/chat/completions", Body(text));
  if (!answer) return answer;
  if (const auto content = TextOf(*answer, "message")) Keep(text, *content);
  return answer;
}

Status Conversation::Save(const std::string& path) const {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    if (const auto there = ReadSaved(path); !there)
      return Fail(ErrorCode::kInvalidArgument, "{} is there, and is no saved conversation; name another file", path);
  }
  auto file = OutputFile::Create(path);
  if (!file) return Forward(file);
  file->stream() << json::serialize(json::object{
                        {"format", kFormat}, {"system", system_}, {"fields", fields_}, {"messages", messages_}})
                 << '\n';
  return file->Commit();
}

Status Conversation::Load(const std::string& path) {
  const auto saved = ReadSaved(path);
  if (!saved) return Forward(saved);
  auto messages = MessagesIn(*saved, path);
  if (!messages) return Forward(messages);
  const json::value* system = saved->if_contains("system");
  const json::value* fields = saved->if_contains("fields");
  messages_ = std::move(*messages);
  system_ = system != nullptr && system->is_string() ? std::string(system->get_string()) : std::string();
  fields_ = fields != nullptr && fields->is_object() ? fields->get_object() : json::object();
  return {};
}

}  // namespace inferflux::apps
