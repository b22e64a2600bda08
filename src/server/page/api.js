// The server's API. The key stays in this tab only.
const keyName = "inferflux-key";

export class ApiFailure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const apiKey = {
  get: () => sessionStorage.getItem(keyName) || "",
  set: (key) => (key ? sessionStorage.setItem(keyName, key) : sessionStorage.removeItem(keyName)),
};

async function send(path, {method = "GET", body, signal} = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (apiKey.get()) headers.Authorization = `Bearer ${apiKey.get()}`;
  let response;
  try {
    response = await fetch(path, {method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body)});
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new ApiFailure(0, "The server does not answer. Check that it runs.");
  }
  if (response.ok) return response;
  const text = await response.text();
  let message = text;
  try {
    message = JSON.parse(text).error.message;
  } catch { /* not JSON: the text itself says what is wrong */ }
  if (response.status === 401) document.dispatchEvent(new Event("key-needed"));
  throw new ApiFailure(response.status, message || `The server answered ${response.status}.`);
}

export const getJson = async (path) => (await send(path)).json();
export const getText = async (path) => (await send(path)).text();
export const sendJson = async (method, path, body) => (await send(path, {method, body})).json();

// The events of a stream, parsed, until [DONE]. `onResponse` gets the response before the first of them.
export async function* events(path, body, {signal, onResponse} = {}) {
  const response = await send(path, {method: body === undefined ? "GET" : "POST", body, signal});
  onResponse?.(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
      if (data === "[DONE]") return;
      if (data) yield JSON.parse(data);
    }
  }
}
