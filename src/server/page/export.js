// A conversation as files, and a request as commands.
import {shownPath} from "./conversations.js";

export function asMarkdown(conversation) {
  const parts = [`# ${conversation.title}`];
  if (conversation.system) parts.push(`**System**\n\n${conversation.system}`);
  for (const [, message] of shownPath(conversation)) parts.push(`**${message.role}**\n\n${message.content}`);
  return parts.join("\n\n") + "\n";
}

const shellQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function asCurl(path, body, hasKey) {
  const key = hasKey ? ' \\\n  -H "Authorization: Bearer $INFERFLUX_API_KEY"' : "";
  return `curl ${location.origin}${path} -H 'Content-Type: application/json'${key} \\\n  -d ${shellQuoted(JSON.stringify(body))}\n`;
}

// JSON's true, false and null are Python's True, False and None.
function pythonLiteral(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${pythonLiteral(v)}`).join(", ")}}`;
  return JSON.stringify(value);
}

// Fields that the openai package does not know travel in extra_body.
const knownToOpenAI = new Set(["model", "messages", "temperature", "top_p", "max_tokens", "n", "stop", "seed", "presence_penalty",
  "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "stream", "stream_options", "tools", "tool_choice", "response_format"]);

export function asPython(body, hasKey) {
  const own = Object.entries(body).filter(([name]) => knownToOpenAI.has(name));
  const extra = Object.fromEntries(Object.entries(body).filter(([name]) => !knownToOpenAI.has(name)));
  const lines = own.map(([name, value]) => `    ${name}=${pythonLiteral(value)},`);
  if (Object.keys(extra).length > 0) lines.push(`    extra_body=${pythonLiteral(extra)},`);
  const key = hasKey ? 'os.environ["INFERFLUX_API_KEY"]' : '"none"';
  return `${hasKey ? "import os\n\n" : ""}from openai import OpenAI

client = OpenAI(base_url="${location.origin}/v1", api_key=${key})
answer = client.chat.completions.create(
${lines.join("\n")}
)
print(answer)
`;
}
