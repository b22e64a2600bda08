"""Writes many mutants into one copy of the sources, each behind a switch (switch.h), so that one build has them all.

A mutant has several forms; the first that compiles is taken. None of them moves a line, so an error names the lines of its mutant.
"""

import re
from dataclasses import dataclass

from mutants import ARGUMENTS, ARITHMETIC, COMPARISON, NUMBER

OPENING, CLOSING = "([{", ")]}"
DECLARATION = re.compile(r"^(\s*(?:[\w:]+(?:<[^=]*>)?[&*]*(?: [&*]*|(?<=[&*])))+[\w]+ = )(.*);$", re.DOTALL)
CONSTRUCTION = re.compile(r"^\s*(?:const )?[\w:]+(?:<.*>)?[&*]? \w+[({]")
CONSTEXPR = re.compile(r"\s*(static |inline )*constexpr ")
CONTROL = re.compile(r"^(\s*(?:\} else )?(?:if|while|for) \()")


@dataclass(frozen=True)
class Edit:
    """Lines first..last (from 1) of a file, replaced by one line."""
    first: int
    last: int
    text: str


def blank_strings(text):
    return re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'', lambda m: "_" * len(m.group()), text)


def depth(text):
    bare = blank_strings(text)
    return sum(bare.count(c) for c in OPENING) - sum(bare.count(c) for c in CLOSING)


def split(text, separator):
    """At each separator that is in no bracket."""
    parts, level, begin, bare = [], 0, 0, blank_strings(text)
    for i, c in enumerate(bare):
        level += (c in OPENING) - (c in CLOSING)
        if level == 0 and bare.startswith(separator, i):
            parts.append(text[begin:i])
            begin = i + len(separator)
    return [*parts, text[begin:]]


def statement(lines, number):
    """The first and the last line (from 1) of the statement that holds a line, or None."""
    first = number
    while first > 1:
        before = lines[first - 2].strip()
        if not before or before.endswith((";", "{", "}", ":")) or before.startswith(("//", "#")):
            break
        first -= 1
    level = 0
    for last in range(first, min(len(lines), first + 40) + 1):
        line = lines[last - 1]
        if "//" in blank_strings(line) or 'R"' in line or line.lstrip().startswith("#"):
            return None
        bare = blank_strings(line)
        level += bare.count("(") - bare.count(")")
        if level < 0:
            return None
        if level == 0 and last >= number and bare.rstrip().endswith((";", "{")):
            return first, last
    return None


def choice(number, after, before):
    return f"(mutation::On({number}) ? ({after}) : ({before}))"


def differing(before, after, join):
    """The list of parts with the one that differs given to `join`; None if several do."""
    if len(before) != len(after) or sum(b != a for b, a in zip(before, after)) != 1:
        return None
    return [b if b == a else join(b, a) for b, a in zip(before, after)]


def declared(number, before, after):
    """T x = a; with a choice at its right."""
    if not (match := DECLARATION.match(before + ";")) or not after.startswith(match.group(1)):
        return None
    return f"{match.group(1)}{choice(number, after[len(match.group(1)):], match.group(2))}"


def controlled(number, before, after):
    """if, while and for, with a choice in their condition."""
    head = CONTROL.match(before).group(1)
    if not after.startswith(head):
        return None

    def heart(text):
        level, bare = 1, blank_strings(text)
        for i in range(len(head), len(text)):
            level += (bare[i] in OPENING) - (bare[i] in CLOSING)
            if level == 0:
                return text[len(head):i], text[i:]
        return None, None

    (right, tail), (wrong, other_tail) = heart(before), heart(after)
    if right is None or wrong is None:
        return None
    if right == wrong:
        made = alternatives(number, tail[2:], other_tail[2:]) if tail[:2] == ") " and tail.endswith(";") else None
        return head + right + ") " + made if made else None
    if tail != other_tail:
        return None
    parts = split(right, ";")

    def join(b, a):
        place = parts.index(b)
        space = b[: len(b) - len(b.lstrip())]
        b, a = b.strip(), a.strip()
        is_condition = place == (1 if " for" in " " + head.strip() else len(parts) - 1)
        if is_condition and len(split(b, " = ")) == 1:
            return f"{space}mutation::On({number}) ? static_cast<bool>({a}) : static_cast<bool>({b})"
        made = declared(number, b, a)
        return space + made if made else "\n"

    if "for (" in head and len(parts) == 1:
        ranges = differing(split(right, " : "), split(wrong, " : "), lambda b, a: choice(number, a, b))
        return head + " : ".join(ranges) + tail if ranges else None
    made = differing(parts, split(wrong, ";"), join)
    return None if made is None or "\n" in made else head + ";".join(made) + tail


def alternatives(number, before, after):
    return f"{{ if (mutation::On({number})) {{ {after.strip()} }} else {{ {before.strip()} }} }}"


def whole(number, mutant, lines):
    """The statement of the mutant with a choice, or None."""
    if not (span := statement(lines, mutant.line)):
        return None
    first, last = span
    join = lambda chosen: " ".join([chosen[0], *(line.strip() for line in chosen[1:])]).rstrip()
    before = join(lines[first - 1:last])
    after = join([*lines[first - 1:mutant.line - 1], mutant.after, *lines[mutant.line:last]])
    text = None
    if CONTROL.match(before):
        text = controlled(number, before, after)
    elif before.endswith(";") and depth(before) == 0 and not before.lstrip().startswith(("case ", "else", "using ", "static_assert", "do ")):
        if before.lstrip().startswith(("return ", "return;")):
            text = alternatives(number, before, after)
        elif DECLARATION.match(before):
            text = declared(number, before[:-1], after[:-1])
            text = text and text + ";"
        elif not CONSTRUCTION.match(before) or before.lstrip().startswith(("co_await ", "co_return ")):
            text = alternatives(number, before, after)
    return text and Edit(first, last, text)


def position(mutant):
    """Where the line begins to differ."""
    return next((i for i, (b, a) in enumerate(zip(mutant.before, mutant.after)) if b != a), min(len(mutant.before), len(mutant.after)))


def matching(pattern, mutant, replace):
    """The match of a pattern that this mutant changed."""
    return next((m for m in pattern.finditer(mutant.before)
                 if mutant.before[: m.start()] + replace(m) + mutant.before[m.end():] == mutant.after), None)


def in_place(number, mutant, lines):
    """Edits of the changed line alone."""
    line, kind = mutant.before, mutant.kind
    texts = []
    if kind == "constant":
        m = matching(NUMBER, mutant, lambda m: str(int(m.group(1)) + 1))
        right, wrong = m.group(1), str(int(m.group(1)) + 1)
        for made in (f"(mutation::On({number}) ? {wrong} : {right})", f"mutation::Constant{{{number}, {right}, {wrong}}}"):
            texts.append(line[: m.start()] + made + line[m.end():])
    elif kind in ("comparison", "arithmetic"):
        pattern = COMPARISON if kind == "comparison" else ARITHMETIC
        m = next((m for m in pattern.finditer(line) if m.start() <= position(mutant) < m.end()), None)
        if m:
            texts.append(f"{line[:m.start()]} {m.group(1)} mutation::Operator{{{number}}} {m.group(1)} {line[m.end():]}")
    elif kind == "swapped arguments":
        m = matching(ARGUMENTS, mutant, lambda m: f"({m.group(2)}, {m.group(1)}{m.group(3)}")
        a, b = m.group(1), m.group(2)
        texts.append(f"{line[:m.start()]}({choice(number, b, a)}, {choice(number, a, b)}{m.group(3)}{line[m.end():]}")
    edits = [Edit(mutant.line, mutant.line, text) for text in texts]
    span = statement(lines, mutant.line)
    if span and CONSTEXPR.match(lines[span[0] - 1]):
        for text in texts:
            joined = " ".join([*lines[span[0] - 1:mutant.line - 1], text, *lines[mutant.line:span[1]]])
            edits.append(Edit(*span, joined.replace("constexpr ", "const ", 1)))
    return edits


def forms(number, mutant, text):
    """The edits that give the mutant a switch, the likeliest first; those that do not compile are passed over by whoever builds."""
    lines = text.split("\n")
    made = whole(number, mutant, lines)
    own = in_place(number, mutant, lines)
    ordered = [*own, made] if mutant.kind != "swapped arguments" else [made, *own]
    # Nothing that is chosen at run time is a constant expression.
    return [edit for edit in ordered if edit and not CONSTEXPR.match(edit.text)]


def switched(text, edits, header):
    """The text with all edits, which do not overlap, and with the header before everything."""
    lines = text.split("\n")
    for edit in edits:
        lines[edit.first - 1] = edit.text
        for i in range(edit.first, edit.last):
            lines[i] = ""
    return f'#include "{header}"\n#line 1\n' + "\n".join(lines)


def overlap(one, other):
    return one.first <= other.last and other.first <= one.last
