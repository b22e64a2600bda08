// The messages of a generation: the request, and the events of its answer. An answer is `started`, `token` events and
// `metrics`, then exactly one of `end` and `error`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "scheduler/generation_service.h"
#include "text/grammar/grammar_spec.h"
#include "text/tool_calls/marker_tokens.h"
#include "worker/contract/engine_messages.h"
#include "worker/contract/messages.h"

namespace inferflux::worker {

// --- the request ---

template <>
struct WordsOf<text::GrammarSpec::Kind> {
  using Kind = text::GrammarSpec::Kind;
  static constexpr std::pair<std::string_view, Kind> kWords[] = {{"json_object", Kind::kJsonObject},
                                                                 {"json_schema", Kind::kJsonSchema},
                                                                 {"regex", Kind::kRegex},
                                                                 {"choice", Kind::kChoice},
                                                                 {"gbnf", Kind::kGbnf},
                                                                 {"lark", Kind::kLark},
                                                                 {"tool_calls", Kind::kToolCalls}};
};
template <>
struct WordsOf<scheduler::Speculation::Kind> {
  using Kind = scheduler::Speculation::Kind;
  static constexpr std::pair<std::string_view, Kind> kWords[] = {
      {"none", Kind::kNone}, {"prompt_lookup", Kind::kPromptLookup}, {"draft", Kind::kDraft}};
};

template <>
struct MessageOf<text::OfferedTool> {
  using T = text::OfferedTool;
  static constexpr std::string_view kName = "OfferedTool";
  static constexpr std::string_view kHelp = "A function that the answer may call.";
  static consteval auto Fields() {
    return std::tuple{Required("name", &T::name, "its name"),
                      Required("parameters", &T::parameters, "a JSON schema, as text; empty: any object"),
                      Optional("lark", &T::lark, "instead: the grammar of its only argument, a text")};
  }
};
template <>
struct MessageOf<text::MarkerTokens> {
  using T = text::MarkerTokens;
  static constexpr std::string_view kName = "MarkerTokens";
  static constexpr std::string_view kHelp = "The control tokens of a syntax of tool calls.";
  static consteval auto Fields() {
    return std::tuple{Required("shown", &T::shown, "their ids").Within(0, 256),
                      Required("control", &T::control, "their names").Within(0, 256),
                      Required("ends", &T::ends, "names of those that end an answer").Within(0, 256)};
  }
};

struct ToolCallGrammar {
  std::string syntax;
  text::MarkerTokens tokens;
  std::vector<text::OfferedTool> tools;
  bool forced = false;
  bool several = false;
};
template <>
struct MessageOf<ToolCallGrammar> {
  using T = ToolCallGrammar;
  static constexpr std::string_view kName = "ToolCallGrammar";
  static constexpr std::string_view kHelp = "Text with calls in the syntax in which the model writes them.";
  static consteval auto Fields() {
    return std::tuple{Required("syntax", &T::syntax, "the syntax's id").Within(1, 64),
                      Required("tokens", &T::tokens, "of the syntax"),
                      Required("tools", &T::tools, "what may be called").Within(0, 1024),
                      Required("forced", &T::forced, "the answer is a call"),
                      Required("several", &T::several, "more than one call may be made")};
  }
};

struct GrammarMessage {
  text::GrammarSpec::Kind kind = text::GrammarSpec::Kind::kJsonObject;
  std::string source;
  std::vector<std::string> choices;
  std::optional<ToolCallGrammar> tool_calls;
};
template <>
struct MessageOf<GrammarMessage> {
  using T = GrammarMessage;
  static constexpr std::string_view kName = "Grammar";
  static constexpr std::string_view kHelp = "What the text must match, as its source; the worker compiles it.";
  static consteval auto Fields() {
    return std::tuple{Required("kind", &T::kind, "how the source is written"),
                      Optional("source", &T::source, "a schema, an expression or a grammar").Within(0, kMostTextBytes),
                      Optional("choices", &T::choices, "of a choice").Within(0, 4096),
                      Optional("tool_calls", &T::tool_calls, "of tool_calls")};
  }
};

struct ReasoningMessage {
  bool inside = false;
  std::optional<int32_t> budget;
};
template <>
struct MessageOf<ReasoningMessage> {
  using T = ReasoningMessage;
  static constexpr std::string_view kName = "Reasoning";
  static constexpr std::string_view kHelp = "The reasoning before the answer, which the grammar does not constrain.";
  static consteval auto Fields() {
    return std::tuple{Required("inside", &T::inside, "the prompt has opened it"),
                      Optional("budget", &T::budget, "its most tokens; absent: no limit").Within(0, kMostTokens)};
  }
};

template <>
struct MessageOf<scheduler::Speculation> {
  using T = scheduler::Speculation;
  static constexpr std::string_view kName = "Speculation";
  static constexpr std::string_view kHelp = "Draft tokens; they never change the text.";
  static consteval auto Fields() {
    return std::tuple{Required("kind", &T::kind, "where they come from"),
                      Optional("max_tokens", &T::max_tokens, "of a step").Within(0, scheduler::kMaxDraftTokens)};
  }
};

template <>
struct MessageOf<scheduler::NextTokensQuery> {
  using T = scheduler::NextTokensQuery;
  static constexpr std::string_view kName = "NextTokensQuery";
  static constexpr std::string_view kHelp = "Asks what may come next, in place of a generation.";
  static consteval auto Fields() {
    return std::tuple{
        Required("output_tokens", &T::output_tokens, "at the prompt's end: output already").Within(0, kMostTokens),
        Required("top", &T::top, "the likeliest to describe").Within(1, 20)};
  }
};

struct SessionMessage {
  std::string id;
  int64_t ttl_seconds = 3600;
  bool once = false;
};
template <>
struct MessageOf<SessionMessage> {
  using T = SessionMessage;
  static constexpr std::string_view kName = "SessionUse";
  static constexpr std::string_view kHelp = "The conversation whose KV is kept.";
  static consteval auto Fields() {
    return std::tuple{Required("id", &T::id, "unique for a salt").Within(1, 256),
                      Optional("ttl_seconds", &T::ttl_seconds, "after its last request").Within(1, 31536000),
                      Optional("once", &T::once, "taken from the session store, and not kept")};
  }
};

struct ExecuteRequest {
  std::string request_id;
  std::string client_request_id;
  std::string trace_parent;
  std::vector<TokenId> prompt;
  std::string text;
  engine::SamplingParams sampling;
  int32_t max_tokens = 0;
  std::vector<std::string> stop;
  std::optional<GrammarMessage> grammar;
  std::optional<ReasoningMessage> reasoning;
  bool embed = false;
  bool score = false;
  int32_t second_text = 0;
  bool ignore_eos = false;
  std::optional<scheduler::NextTokensQuery> next_tokens;
  std::optional<int32_t> top_logprobs;
  std::optional<int32_t> prompt_logprobs;
  std::optional<scheduler::Speculation> speculation;
  std::vector<TokenId> prediction;
  bool continues_text = false;
  std::vector<TokenId> shown_control;
  std::string account;
  int32_t account_running = 0;
  int32_t account_queued = 0;
  uint64_t cache_salt = 0;
  std::optional<SessionMessage> session;
  int32_t priority = 0;
  std::optional<int64_t> deadline_ms;
};
template <>
struct MessageOf<ExecuteRequest> {
  using T = ExecuteRequest;
  static constexpr std::string_view kName = "ExecuteRequest";
  static constexpr std::string_view kHelp = "The body of POST /execute: a whole generation.";
  static consteval auto Fields() {
    return std::tuple{
        Required("request_id", &T::request_id, "unique among the running ones").Within(1, 128),
        Optional("client_request_id", &T::client_request_id, "of the client's request, for logs").Within(0, 128),
        Optional("trace_parent", &T::trace_parent, "of the client's request, as W3C's traceparent").Within(0, 128),
        Optional("prompt", &T::prompt, "token ids, special tokens in place").Within(0, kMostTokens),
        Optional("text", &T::text, "instead of token ids: a raw prompt").Within(0, kMostTextBytes),
        Optional("sampling", &T::sampling, "how tokens are chosen"),
        Optional("max_tokens", &T::max_tokens, "0: as many as fit").Within(0, kMostTokens),
        Optional("stop", &T::stop, "the text ends before the first of these").Within(0, 1024),
        Optional("grammar", &T::grammar, "what the text must match"),
        Optional("reasoning", &T::reasoning, "before the text; with a grammar or a budget"),
        Optional("embed", &T::embed, "pools the prompt's hidden states instead of generating"),
        Optional("score", &T::score, "the same for a classifier's scores"),
        Optional("second_text", &T::second_text, "where a pair's second text begins; 0: one text")
            .Within(0, kMostTokens),
        Optional("ignore_eos", &T::ignore_eos, "end tokens are not sampled"),
        Optional("next_tokens", &T::next_tokens, "scores what may come next instead of generating"),
        Optional("top_logprobs", &T::top_logprobs, "alternatives of each token").Within(0, 20),
        Optional("prompt_logprobs", &T::prompt_logprobs, "the same for the prompt").Within(0, 20),
        Optional("speculation", &T::speculation, "absent: the worker's default"),
        Optional("prediction", &T::prediction, "what the output may be: draft tokens").Within(0, kMostTokens),
        Optional("continues_text", &T::continues_text, "keeps the output's first space"),
        Optional("shown_control", &T::shown_control, "control tokens that appear by name").Within(0, 256),
        Optional("account", &T::account, "accounts get equal shares").Within(0, 256),
        Optional("account_running", &T::account_running, "sequences of the account at once; 0: no limit")
            .Within(0, 1 << 20),
        Optional("account_queued", &T::account_queued, "requests of the account that wait; 0: no limit")
            .Within(0, 1 << 20),
        Optional("cache_salt", &T::cache_salt, "requests of different salts never share KV"),
        Optional("session", &T::session, "a conversation that is kept"),
        Optional("priority", &T::priority, "higher is served first"),
        Optional("deadline_ms", &T::deadline_ms, "from now").Within(1, 1e12)};
  }
};

struct CancelRequest {
  std::string request_id;
};
template <>
struct MessageOf<CancelRequest> {
  static constexpr std::string_view kName = "CancelRequest";
  static constexpr std::string_view kHelp = "The body of POST /cancel; an unknown id is no error.";
  static consteval auto Fields() {
    return std::tuple{Required("request_id", &CancelRequest::request_id, "of the generation").Within(1, 128)};
  }
};

// --- the events ---

struct TokenMessage {
  TokenId id = 0;
  float logprob = 0;
  std::vector<uint8_t> bytes;
  std::vector<TokenMessage> top;
};
template <>
struct MessageOf<TokenMessage> {
  using T = TokenMessage;
  static constexpr std::string_view kName = "Token";
  static constexpr std::string_view kHelp = "A token; its bytes may be a part of a character.";
  static consteval auto Fields() {
    return std::tuple{Required("id", &T::id, "its id"), Optional("logprob", &T::logprob, "natural, if asked for"),
                      Optional("bytes", &T::bytes, "its bytes, if log probabilities are asked for"),
                      Optional("top", &T::top, "the likeliest others")};
  }
};

struct StartedEvent {
  std::string request_id;
  std::string worker_id;
};
template <>
struct MessageOf<StartedEvent> {
  using T = StartedEvent;
  static constexpr std::string_view kName = "started";
  static constexpr std::string_view kHelp = "The request is queued.";
  static constexpr std::string_view kType = "started";
  static consteval auto Fields() {
    return std::tuple{Required("request_id", &T::request_id, "of the request"),
                      Required("worker_id", &T::worker_id, "who runs it")};
  }
};

struct TokenEvent {
  std::string text;
  std::vector<TokenMessage> tokens;
  std::vector<TokenMessage> prompt;
};
template <>
struct MessageOf<TokenEvent> {
  using T = TokenEvent;
  static constexpr std::string_view kName = "token";
  static constexpr std::string_view kHelp = "What was sampled since the last event.";
  static constexpr std::string_view kType = "token";
  static consteval auto Fields() {
    return std::tuple{Required("text", &T::text, "complete UTF-8"),
                      Optional("tokens", &T::tokens, "without the end token"),
                      Optional("prompt", &T::prompt, "the prompt's tokens except the first, if asked for")};
  }
};

template <>
struct WordsOf<scheduler::TimelinePhase::Kind> {
  using Kind = scheduler::TimelinePhase::Kind;
  static constexpr std::pair<std::string_view, Kind> kWords[] = {{"queued", Kind::kQueued},
                                                                 {"prefill", Kind::kPrefill},
                                                                 {"decode", Kind::kDecode},
                                                                 {"waiting", Kind::kWaiting},
                                                                 {"preempted", Kind::kPreempted}};
};
template <>
struct MessageOf<scheduler::TimelinePhase> {
  using T = scheduler::TimelinePhase;
  static constexpr std::string_view kName = "TimelinePhase";
  static constexpr std::string_view kHelp = "What the worker did for a request, in seconds since its arrival.";
  static consteval auto Fields() {
    return std::tuple{Required("kind", &T::kind, "what it did"), Required("begin", &T::begin, "from"),
                      Required("end", &T::end, "until"), Optional("tokens", &T::tokens, "taken in, or generated"),
                      Optional("steps", &T::steps, "of the engine")};
  }
};

struct MetricsEvent {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;
  int32_t cached_tokens = 0;
  int32_t drafted_tokens = 0;
  int32_t accepted_tokens = 0;
  double time_to_first_token_ms = 0;
  std::vector<scheduler::TimelinePhase> phases;
};
template <>
struct MessageOf<MetricsEvent> {
  using T = MetricsEvent;
  static constexpr std::string_view kName = "metrics";
  static constexpr std::string_view kHelp = "What the generation took; before its last event.";
  static constexpr std::string_view kType = "metrics";
  static consteval auto Fields() {
    return std::tuple{Required("prompt_tokens", &T::prompt_tokens, "of the prompt"),
                      Required("completion_tokens", &T::completion_tokens, "sampled, the end token included"),
                      Required("cached_tokens", &T::cached_tokens, "of the prompt, from shared KV"),
                      Required("drafted_tokens", &T::drafted_tokens, "draft tokens"),
                      Required("accepted_tokens", &T::accepted_tokens, "the accepted ones"),
                      Required("time_to_first_token_ms", &T::time_to_first_token_ms, "from the request's arrival"),
                      Optional("phases", &T::phases, "what happened to the request").Within(0, 128)};
  }
};

enum class StopReason : uint8_t { kEos, kMaxTokens, kStopSequence, kCancelled };
template <>
struct WordsOf<StopReason> {
  static constexpr std::pair<std::string_view, StopReason> kWords[] = {{"EOS", StopReason::kEos},
                                                                       {"MAX_TOKENS", StopReason::kMaxTokens},
                                                                       {"STOP_SEQUENCE", StopReason::kStopSequence},
                                                                       {"CANCELLED", StopReason::kCancelled}};
};

struct NextTokensMessage {
  int32_t vocabulary = 0;
  int32_t allowed = 0;
  bool may_end = false;
  double allowed_probability = 0;
  std::vector<TokenMessage> top;
  std::vector<TokenMessage> unconstrained;
};
template <>
struct MessageOf<NextTokensMessage> {
  using T = NextTokensMessage;
  static constexpr std::string_view kName = "NextTokens";
  static constexpr std::string_view kHelp = "What may come next; probabilities are the model's, before any constraint.";
  static consteval auto Fields() {
    return std::tuple{Required("vocabulary", &T::vocabulary, "tokens of the model"),
                      Required("allowed", &T::allowed, "those that the grammar allows"),
                      Required("may_end", &T::may_end, "an end token is one of them"),
                      Required("allowed_probability", &T::allowed_probability, "of them together").Within(0, 1),
                      Required("top", &T::top, "the likeliest allowed ones"),
                      Required("unconstrained", &T::unconstrained, "the likeliest of all")};
  }
};

struct EndEvent {
  int32_t tokens_out = 0;
  double decode_time_ms = 0;
  StopReason stop_reason = StopReason::kEos;
  std::optional<std::string> stop_sequence_matched;
  std::optional<TokenId> stop_token;
  std::vector<float> embedding;
  std::optional<NextTokensMessage> next_tokens;
};
template <>
struct MessageOf<EndEvent> {
  using T = EndEvent;
  static constexpr std::string_view kName = "end";
  static constexpr std::string_view kHelp = "The last event of a generation that did not fail.";
  static constexpr std::string_view kType = "end";
  static consteval auto Fields() {
    return std::tuple{
        Required("tokens_out", &T::tokens_out, "sampled, the end token included"),
        Required("decode_time_ms", &T::decode_time_ms, "from the first token to the last"),
        Required("stop_reason", &T::stop_reason, "what ended it; EOS also where a grammar allows no more"),
        Optional("stop_sequence_matched", &T::stop_sequence_matched, "with STOP_SEQUENCE"),
        Optional("stop_token", &T::stop_token, "with EOS: the token"),
        Optional("embedding", &T::embedding, "of an embedding request; scores of a score request"),
        Optional("next_tokens", &T::next_tokens, "of a request for them")};
  }
};

// --- sessions ---

template <>
struct WordsOf<scheduler::SessionCommand::Action> {
  using Action = scheduler::SessionCommand::Action;
  static constexpr std::pair<std::string_view, Action> kWords[] = {
      {"list", Action::kList}, {"save", Action::kSave}, {"restore", Action::kRestore}, {"delete", Action::kDelete}};
};
template <>
struct WordsOf<scheduler::SessionInfo::Tier> {
  using Tier = scheduler::SessionInfo::Tier;
  static constexpr std::pair<std::string_view, Tier> kWords[] = {
      {"engine", Tier::kEngine}, {"memory", Tier::kMemory}, {"disk", Tier::kDisk}};
};
template <>
struct MessageOf<scheduler::SessionCommand> {
  using T = scheduler::SessionCommand;
  static constexpr std::string_view kName = "SessionRequest";
  static constexpr std::string_view kHelp = "The body of POST /sessions.";
  static consteval auto Fields() {
    return std::tuple{Required("action", &T::action, "what to do"), Optional("id", &T::id, "with which").Within(0, 256),
                      Required("salt", &T::salt, "whose")};
  }
};
template <>
struct MessageOf<scheduler::SessionInfo> {
  using T = scheduler::SessionInfo;
  static constexpr std::string_view kName = "Session";
  static constexpr std::string_view kHelp = "A conversation that is kept.";
  static consteval auto Fields() {
    return std::tuple{Required("id", &T::id, "its id"),
                      Required("tier", &T::tier, "where its KV is"),
                      Required("tokens", &T::tokens, "of KV"),
                      Required("bytes", &T::bytes, "of its saved KV"),
                      Required("on_disk", &T::on_disk, "a file holds it too"),
                      Required("expires_in", &T::expires_in, "seconds")};
  }
};
struct SessionList {
  std::vector<scheduler::SessionInfo> sessions;
};
template <>
struct MessageOf<SessionList> {
  static constexpr std::string_view kName = "SessionList";
  static constexpr std::string_view kHelp = "The answer of POST /sessions.";
  static consteval auto Fields() {
    return std::tuple{Required("sessions", &SessionList::sessions, "of the salt, or the one")};
  }
};

}  // namespace inferflux::worker
