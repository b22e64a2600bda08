#include "worker/contract/generation_codec.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <memory>
#include <span>
#include <utility>

#include "net/sse.h"
#include "serving/generation/chat_prompt.h"
#include "text/grammar/grammar_compiler.h"
#include "text/reasoning/output_matcher.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::worker {
namespace {

using scheduler::FinishReason;
using scheduler::GeneratedToken;
using scheduler::StreamEvent;

double InMilliseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

GrammarMessage ToMessage(const text::GrammarSpec& spec) {
  GrammarMessage out{.kind = spec.kind, .source = spec.source, .choices = spec.choices};
  if (spec.kind != text::GrammarSpec::Kind::kToolCalls) return out;
  out.tool_calls = ToolCallGrammar{.syntax = std::string(spec.tool_calls.syntax->id),
                                   .tokens = spec.tool_calls.tokens,
                                   .tools = spec.tool_calls.tools,
                                   .forced = spec.tool_calls.forced,
                                   .several = spec.tool_calls.several};
  return out;
}

std::optional<text::GrammarSpec> FromMessage(const GrammarMessage& message, FieldErrors& errors) {
  text::GrammarSpec out{.kind = message.kind, .source = message.source, .choices = message.choices};
  if (message.kind != text::GrammarSpec::Kind::kToolCalls) return out;
  if (!message.tool_calls) {
    errors.Add("grammar.tool_calls", "required", "is needed for this kind");
    return std::nullopt;
  }
  const auto syntaxes = text::ToolCallSyntaxes();
  const auto syntax = std::ranges::find(syntaxes, message.tool_calls->syntax, &text::ToolCallSyntax::id);
  if (syntax == syntaxes.end()) {
    errors.Add("grammar.tool_calls.syntax", "enum", "is no syntax of this version");
    return std::nullopt;
  }
  out.tool_calls = {.syntax = &*syntax,
                    .tokens = message.tool_calls->tokens,
                    .tools = message.tool_calls->tools,
                    .forced = message.tool_calls->forced,
                    .several = message.tool_calls->several};
  return out;
}

TokenMessage ToMessage(const scheduler::TokenLogprob& token) {
  return {.id = token.id, .logprob = token.logprob, .bytes = {token.bytes.begin(), token.bytes.end()}};
}

std::vector<TokenMessage> ToMessages(const std::vector<GeneratedToken>& tokens) {
  std::vector<TokenMessage> out;
  out.reserve(tokens.size());
  for (const GeneratedToken& token : tokens) {
    TokenMessage& message = out.emplace_back(ToMessage(token.chosen));
    for (const auto& other : token.top) message.top.push_back(ToMessage(other));
  }
  return out;
}

scheduler::TokenLogprob FromMessage(const TokenMessage& message) {
  return {.id = message.id, .bytes = {message.bytes.begin(), message.bytes.end()}, .logprob = message.logprob};
}

std::vector<GeneratedToken> FromMessages(const std::vector<TokenMessage>& messages) {
  std::vector<GeneratedToken> out;
  out.reserve(messages.size());
  for (const TokenMessage& message : messages) {
    GeneratedToken& token = out.emplace_back();
    token.chosen = FromMessage(message);
    for (const TokenMessage& other : message.top) token.top.push_back(FromMessage(other));
  }
  return out;
}

NextTokensMessage ToMessage(const scheduler::NextTokens& next) {
  NextTokensMessage out{.vocabulary = next.vocabulary,
                        .allowed = next.allowed,
                        .may_end = next.may_end,
                        .allowed_probability = next.allowed_probability};
  for (const auto& token : next.top) out.top.push_back(ToMessage(token));
  for (const auto& token : next.unconstrained) out.unconstrained.push_back(ToMessage(token));
  return out;
}

scheduler::NextTokens FromMessage(const NextTokensMessage& message) {
  scheduler::NextTokens out{.vocabulary = message.vocabulary,
                            .allowed = message.allowed,
                            .may_end = message.may_end,
                            .allowed_probability = message.allowed_probability,
                            .top = {},
                            .unconstrained = {}};
  for (const TokenMessage& token : message.top) out.top.push_back(FromMessage(token));
  for (const TokenMessage& token : message.unconstrained) out.unconstrained.push_back(FromMessage(token));
  return out;
}

template <Message T>
Result<T> ReadEvent(const boost::json::value& value) {
  FieldErrors errors;
  T out;
  ReadMessage(value, "", out, errors);
  if (!errors.empty()) return Fail(ErrorCode::kDataLoss, "the worker sent a bad event: {}", errors.Joined());
  return out;
}

scheduler::Finish FinishOf(EndEvent& end, const scheduler::Usage& usage) {
  scheduler::Finish out{.usage = usage};
  switch (end.stop_reason) {
    case StopReason::kEos:
    case StopReason::kStopSequence:
      out.reason = FinishReason::kStop;
      break;
    case StopReason::kMaxTokens:
      out.reason = FinishReason::kLength;
      break;
    case StopReason::kCancelled:
      out.reason = FinishReason::kCancelled;
      break;
  }
  out.stop_string = std::move(end.stop_sequence_matched);
  out.stop_token = end.stop_token;
  return out;
}

StopReason ReasonOf(const scheduler::Finish& finish) {
  if (finish.reason == FinishReason::kLength) return StopReason::kMaxTokens;
  if (finish.reason == FinishReason::kCancelled) return StopReason::kCancelled;
  return finish.stop_string ? StopReason::kStopSequence : StopReason::kEos;
}

}  // namespace

ExecuteRequest ToMessage(const scheduler::GenerationRequest& request, std::string request_id, SteadyTime now) {
  ExecuteRequest out{.request_id = std::move(request_id),
                     .client_request_id = request.request_id,
                     .trace_parent = request.trace_parent,
                     .prompt = request.prompt,
                     .sampling = request.sampling,
                     .max_tokens = request.max_tokens,
                     .stop = request.stop,
                     .embed = request.embed,
                     .score = request.score,
                     .second_text = request.second_text,
                     .ignore_eos = request.ignore_eos,
                     .next_tokens = request.next_tokens,
                     .top_logprobs = request.top_logprobs,
                     .prompt_logprobs = request.prompt_logprobs,
                     .speculation = request.speculation,
                     .prediction = request.prediction,
                     .continues_text = request.continues_text,
                     .shown_control = request.shown_control,
                     .account = request.account,
                     .account_running = request.account_limits.running,
                     .account_queued = request.account_limits.queued,
                     .cache_salt = request.cache_salt,
                     .priority = request.priority};
  if (request.grammar_source) out.grammar = ToMessage(*request.grammar_source);
  if (request.reasoning) out.reasoning = ReasoningMessage{request.reasoning->inside, request.reasoning->budget};
  if (request.session)
    out.session = SessionMessage{request.session->id, request.session->ttl.count(), request.session->once};
  if (request.deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*request.deadline - now).count();
    out.deadline_ms = std::max<int64_t>(1, left);
  }
  return out;
}

Result<std::optional<StreamEvent>> EventReader::Read(std::string_view data) {
  boost::json::error_code failed;
  const auto value = boost::json::parse(data, failed);
  const auto* type = !failed && value.is_object() ? value.get_object().if_contains("type") : nullptr;
  if (type == nullptr || !type->is_string())
    return Fail(ErrorCode::kDataLoss, "the worker sent an event without a type");
  if (finished_) return Fail(ErrorCode::kDataLoss, "the worker sent an event after the last one");
  const std::string_view word = type->get_string();
  if (word == MessageOf<TokenEvent>::kType) {
    auto token = ReadEvent<TokenEvent>(value);
    if (!token) return Forward(token);
    delivered_ = true;
    StreamEvent out;
    out.text = std::move(token->text);
    out.tokens = FromMessages(token->tokens);
    out.prompt = FromMessages(token->prompt);
    return out;
  }
  if (word == MessageOf<MetricsEvent>::kType) {
    auto metrics = ReadEvent<MetricsEvent>(value);
    if (!metrics) return Forward(metrics);
    usage_ = {.prompt_tokens = metrics->prompt_tokens,
              .completion_tokens = metrics->completion_tokens,
              .cached_tokens = metrics->cached_tokens,
              .drafted_tokens = metrics->drafted_tokens,
              .accepted_tokens = metrics->accepted_tokens};
    phases_ = std::move(metrics->phases);
    return std::nullopt;
  }
  if (word == MessageOf<StartedEvent>::kType) {
    auto started = ReadEvent<StartedEvent>(value);
    if (!started) return Forward(started);
    return std::nullopt;
  }
  finished_ = true;
  StreamEvent last;
  if (word == MessageOf<EndEvent>::kType) {
    auto end = ReadEvent<EndEvent>(value);
    if (!end) return Forward(end);
    last.embedding = std::move(end->embedding);
    if (end->next_tokens) last.next_tokens = FromMessage(*end->next_tokens);
    last.finish = FinishOf(*end, usage_);
    last.finish->phases = std::move(phases_);
    return last;
  }
  auto error = ReadEvent<WireError>(value);
  if (!error) return Forward(error);
  last.finish = scheduler::Finish{.reason = FinishReason::kError,
                                  .error = worker::FromMessage(*error),
                                  .usage = usage_,
                                  .phases = std::move(phases_)};
  return last;
}

std::optional<scheduler::GenerationRequest> FromMessage(const ExecuteRequest& message,
                                                        const serving::ServedModel& model, SteadyTime now,
                                                        FieldErrors& errors) {
  scheduler::GenerationRequest out;
  if (message.prompt.empty() == message.text.empty()) {
    errors.Add("prompt", "oneOf", "or text is needed, and not both");
  } else if (message.prompt.empty()) {
    auto tokens = serving::RawPromptTokens(model, message.text);
    if (tokens) out.prompt = std::move(*tokens);
    if (!tokens) errors.Add("text", "format", "cannot be tokenised");
  } else {
    out.prompt = message.prompt;
  }
  out.sampling = message.sampling;
  out.max_tokens = message.max_tokens;
  out.stop = message.stop;
  out.embed = message.embed;
  out.score = message.score;
  out.second_text = message.second_text;
  out.ignore_eos = message.ignore_eos;
  out.next_tokens = message.next_tokens;
  out.top_logprobs = message.top_logprobs;
  out.prompt_logprobs = message.prompt_logprobs;
  out.speculation = message.speculation;
  out.prediction = message.prediction;
  out.continues_text = message.continues_text;
  out.shown_control = message.shown_control;
  out.request_id = message.client_request_id;
  out.trace_parent = message.trace_parent;
  out.account = message.account;
  out.account_limits = {.running = message.account_running, .queued = message.account_queued};
  out.cache_salt = message.cache_salt;
  out.priority = message.priority;
  for (size_t i = 0; i < out.shown_control.size(); ++i) {
    if (out.shown_control[i] >= 0 && out.shown_control[i] < model.tokenizer->size()) continue;
    errors.Add(fmt::format("shown_control[{}]", i), "maximum", "is no token of the model");
  }
  if (message.session) {
    out.session = scheduler::SessionUse{message.session->id, std::chrono::seconds(message.session->ttl_seconds),
                                        message.session->once};
  }
  if (message.deadline_ms) out.deadline = now + std::chrono::milliseconds(*message.deadline_ms);
  if (message.grammar) {
    if (const auto spec = FromMessage(*message.grammar, errors)) {
      auto compiled = model.grammars->Compile(*spec);
      if (compiled) out.grammar = std::move(*compiled);
      // The compiler's message may quote the schema, so only its kind is told.
      if (!compiled) errors.Add("grammar", "format", "cannot be compiled");
    }
  }
  if (message.reasoning && !model.reasoning) errors.Add("reasoning", "format", "needs a model that reasons");
  if (message.reasoning && model.reasoning) {
    out.reasoning = std::make_shared<const text::ReasoningLimits>(text::ReasoningLimits{
        .dialect = model.reasoning, .inside = message.reasoning->inside, .budget = message.reasoning->budget});
  }
  if (!errors.empty()) return std::nullopt;
  return out;
}

void EventWriter::Started(const std::string& request_id, const std::string& worker_id, std::string& out) const {
  net::AppendSseData(out, ToText(StartedEvent{request_id, worker_id}));
}

void EventWriter::Append(const StreamEvent& event, SteadyTime now, std::string& out) {
  if (!event.text.empty() || !event.tokens.empty() || !event.prompt.empty()) {
    if (!first_) first_ = now;
    net::AppendSseData(
        out,
        ToText(TokenEvent{.text = event.text, .tokens = ToMessages(event.tokens), .prompt = ToMessages(event.prompt)}));
  }
  if (!event.finish) return;
  const scheduler::Usage& usage = event.finish->usage;
  net::AppendSseData(out, ToText(MetricsEvent{.prompt_tokens = usage.prompt_tokens,
                                              .completion_tokens = usage.completion_tokens,
                                              .cached_tokens = usage.cached_tokens,
                                              .drafted_tokens = usage.drafted_tokens,
                                              .accepted_tokens = usage.accepted_tokens,
                                              .time_to_first_token_ms = first_ ? InMilliseconds(*first_ - began_) : 0.0,
                                              .phases = event.finish->phases}));
  if (event.finish->reason == FinishReason::kError) {
    net::AppendSseData(out, ToText(ToMessage(event.finish->error)));
    return;
  }
  EndEvent end{.tokens_out = usage.completion_tokens,
               .decode_time_ms = first_ ? InMilliseconds(now - *first_) : 0.0,
               .stop_reason = ReasonOf(*event.finish),
               .stop_sequence_matched = event.finish->stop_string,
               .stop_token = event.finish->stop_token,
               .embedding = event.embedding};
  if (event.next_tokens) end.next_tokens = ToMessage(*event.next_tokens);
  net::AppendSseData(out, ToText(end));
}

WireError ToMessage(const Error& error) {
  // The scheduler ends a request whose deadline has passed with this message.
  const bool late = error.code == ErrorCode::kResourceExhausted && error.message.find("deadline") != std::string::npos;
  const WorkerErrorCode code = late ? WorkerErrorCode::kTimeout : CodeOf(error.code);
  return {.code = code, .message = error.message, .retriable = FactsOf(code).retriable, .kind = error.code};
}

Error FromMessage(const WireError& error) { return {.code = error.kind, .message = error.message}; }

WorkerLoad ToMessage(const scheduler::SchedulerStats& stats) {
  return {.running = stats.running,
          .queued = stats.queued,
          .kv_blocks_used = stats.kv_blocks_used,
          .kv_blocks_free = stats.kv_blocks_free,
          .kv_blocks_cached = stats.kv_blocks_cached,
          .preemptions = stats.preemptions,
          .drafted_tokens = stats.drafted_tokens,
          .accepted_tokens = stats.accepted_tokens,
          .graphs = stats.graphs,
          .graph_replays = stats.graph_replays,
          .graph_refusals = stats.graph_refusals,
          .retry_after_seconds = stats.retry_after_seconds};
}

}  // namespace inferflux::worker
