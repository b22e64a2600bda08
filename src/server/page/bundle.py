#!/usr/bin/env python3
"""Makes the page of one file: index.html with its styles, its modules and the libraries inlined, gzipped beside it, and the
Content-Security-Policy that allows exactly these scripts and styles by their hashes.

usage: bundle.py OUT_DIR LIBRARY.js[:COPYRIGHT] ...     (writes page.html, page.html.gz, page_policy.txt)
"""

import base64
import gzip
import hashlib
import html
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.M)


def modules(path, seen):
    """The module's text after those that it imports, each once. Names are unique over all modules, so one scope holds them."""
    if path in seen:
        return ""
    seen.add(path)
    text = path.read_text()
    before = "".join(modules((path.parent / name).resolve(), seen) for name in IMPORT.findall(text))
    body = re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.M)
    assert not re.search(r"^(import|export)\b", body, re.M), f"{path}: an import or export that this does not know"
    return f"{before}// {path.relative_to(HERE)}\n{body}\n"


def check_names(text):
    names = re.findall(r"^(?:async )?(?:function\*? |const |let |class )(\w+)", text, re.M)
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"names of several modules: {twice}"


# A library is a function that runs when it is first needed (libraries.js): the browser only skims it before the first paint.
def on_demand(path):
    text = re.sub(r"^//# sourceMappingURL=.*$", "", pathlib.Path(path).read_text(), flags=re.M)
    return f'"{pathlib.Path(path).name.partition(".")[0]}"() {{\n{text}\n}},\n'


# Debian 12's DOMPurify (2.4.1, with its patch of nesting depths) reads a variable that it does not declare, where FORCE_BODY was
# tested, and throws without it. FORCE_BODY is not used here, so a depth of 0 is right.
SHIM = "var shadowNode = {__depth: 0};\n"


def inline(script):
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main(out, libraries):
    own = modules(HERE / "main.js", set())
    check_names(own)
    own = inline('"use strict";\n(() => {\n' + own + "})();\n")
    paths = [library.partition(":") for library in libraries]
    shared = SHIM + inline("const libraries = {\n" + "".join(on_demand(path) for path, _, _ in paths) + "};\n")
    licences = "\n\n".join(pathlib.Path(path).read_text() for _, _, path in paths if path)
    style = (HERE / "style.css").read_text()
    page = (HERE / "index.html").read_text()
    for mark, text in (("/* bundle: style.css */", style), ("/* bundle: libraries */", shared), ("/* bundle: main.js */", own),
                       ("<!-- bundle: licences -->", html.escape(licences))):
        assert page.count(mark) == 1, mark
        page = page.replace(mark, text)
    policy = "; ".join([
        "default-src 'none'", f"script-src {policy_hash(shared)} {policy_hash(own)}", f"style-src {policy_hash(style)}", "connect-src 'self'",
        "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types dompurify"])
    out.mkdir(parents=True, exist_ok=True)
    data = page.encode()
    (out / "page.html").write_bytes(data)
    (out / "page.html.gz").write_bytes(gzip.compress(data, 9, mtime=0))
    (out / "page_policy.txt").write_text(policy)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
