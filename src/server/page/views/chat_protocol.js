// A conversation as the API's messages, and the API's events as a message.
import {shownPath} from "../conversations.js";

function apiMessage(message) {
  const out = {role: message.role, content: message.content};
  if (message.toolCalls) out.tool_calls = message.toolCalls.map((call) => ({id: call.id, type: "function", function: {name: call.name, arguments: call.arguments}}));
  if (message.toolCallId) out.tool_call_id = message.toolCallId;
  return out;
}

// The messages of the branch that ends with `upTo`.
export function messagesOf(conversation, upTo, system) {
  const out = shownPath({...conversation, leaf: upTo}).map(([, message]) => apiMessage(message));
  if (system.trim()) out.unshift({role: "system", content: system});
  return out;
}

function takeToolCalls(message, parts) {
  for (const part of parts) {
    message.toolCalls ||= [];
    const call = (message.toolCalls[part.index] ||= {id: part.id, name: "", arguments: ""});
    call.name += part.function?.name || "";
    call.arguments += part.function?.arguments || "";
  }
}

export function takeEvent(message, event, seconds) {
  if (event.usage) message.speed = `${event.usage.completion_tokens} tokens, ${(event.usage.completion_tokens / seconds).toFixed(1)} a second`;
  const choice = event.choices[0];
  if (!choice) return;
  message.content += choice.delta.content || "";
  if (choice.delta.reasoning_content) message.reasoning = (message.reasoning || "") + choice.delta.reasoning_content;
  takeToolCalls(message, choice.delta.tool_calls || []);
  if (choice.logprobs?.content) (message.logprobs ||= []).push(...choice.logprobs.content);
  if (choice.finish_reason === "length") message.note = "Cut at the token limit.";
}
