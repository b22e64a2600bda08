// Elements by one call: el("button", {type: "button", onclick: run}, "Run"). Text becomes text nodes, never HTML.
export function el(tag, properties = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) out.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(out.style, value);
    else if (name in out && name !== "list" && name !== "role") out[name] = value;
    else out.setAttribute(name, value === true ? "" : value);
  }
  out.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return out;
}

let fields = 0;

// A label and the input that it names.
export function labelled(text, input) {
  input.id ||= `field-${++fields}`;
  return [el("label", {htmlFor: input.id}, text), input];
}

export function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; ++unit) bytes /= 1024;
  return `${bytes.toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
}

// 0.1234 as "12.3%"; what is not 0 never looks like it.
export function percentText(share) {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.01) return "<0.01%";
  return `${percent.toFixed(percent < 1 ? 2 : 1)}%`;
}

export function secondsText(seconds) {
  if (seconds < 1) return `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  return seconds < 60 ? `${seconds.toFixed(2)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  el("a", {href: url, download: name}).click();
  URL.revokeObjectURL(url);
}
