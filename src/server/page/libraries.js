// The libraries of the bundle (`libraries`, by the names of their files). Each runs when it is first needed, so that the first
// paint waits for none of them. Each defines a global.
const started = new Set();

function needLibrary(name) {
  if (started.has(name)) return;
  libraries[name]();
  started.add(name);
}

export function chartLibrary() {
  needLibrary("chart");
  return window.Chart;
}

export function highlightLibrary() {
  needLibrary("highlight");
  return window.hljs;
}

export function markdownLibraries() {
  needLibrary("marked");
  needLibrary("purify");
  return {marked: window.marked, purify: window.DOMPurify};
}
