// A model's answer is hostile. Markdown becomes a sanitised fragment: no image, form, frame, SVG or style survives, and a link
// goes to http, https or mailto in a new tab that knows nothing of this one.
import {el} from "./dom.js";
import {highlightLibrary, markdownLibraries} from "./libraries.js";

const kept = {
  ALLOWED_TAGS: ["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong",
    "del", "a", "table", "thead", "tbody", "tr", "th", "td", "span"],
  ALLOWED_ATTR: ["href", "class", "start", "align"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  RETURN_DOM_FRAGMENT: true,
};

function highlight(code) {
  const language = /language-([\w+#-]+)/.exec(code.className)?.[1];
  if (!language || code.textContent.length > 50000) return;
  const library = highlightLibrary();
  if (!library.getLanguage(language)) return;
  const html = library.highlight(language, code.textContent, true).value;
  code.replaceChildren(markdownLibraries().purify.sanitize(html, {ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true}));
}

export function markdown(text) {
  const {marked, purify} = markdownLibraries();
  const out = purify.sanitize(marked.parse(text, {gfm: true, breaks: true, mangle: false, headerIds: false}), kept);
  for (const link of out.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const code of out.querySelectorAll("pre > code")) {
    const source = code.textContent;
    highlight(code);
    code.parentNode.prepend(el("button", {type: "button", className: "copy", onclick: () => navigator.clipboard.writeText(source)}, "Copy"));
  }
  return out;
}
