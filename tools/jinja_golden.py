#!/usr/bin/env python3
"""Writes tests/data/jinja/generated.json: templates from a seeded generator, and Jinja2's output for them.

    tools/jinja_golden.py > tests/data/jinja/generated.json

The environment is the one that chat templates get from transformers: ImmutableSandboxedEnvironment, trim_blocks,
lstrip_blocks, loop controls, tojson as plain json.dumps. Needs jinja2 3.1. A case is [template, expected]; expected is
null if Jinja2 raises. All cases share one context, which is in the file.
"""

import copy
import itertools
import json
import random
import re

from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

SEED = 20260102
MAX_BYTES = 390_000

CONTEXT = {
    "s": "Hello, World",
    "u": "Grüße aus Köln: ΣΑΣ ß 日本 🙂",
    "w": "  two\twords \n and lines\r\n\n end ",
    "q": "it's \"quoted\" \\ <b>&amp;</b>",
    "e": "",
    "csv": "a,b,,c",
    "num": "42.5",
    "i": 7,
    "n": -3,
    "z": 0,
    "big": 9007199254740993,
    "f": 2.5,
    "g": -0.1,
    "h": 1e20,
    "t": True,
    "no": False,
    "nil": None,
    "l": [3, 1, 2, 3],
    "ls": ["b", "A", "c", "a"],
    "lx": [1, "a", None, True, 2.5, [1], {"k": "v"}],
    "le": [],
    "d": {"b": 2, "a": 1, "C": 3},
    "de": {},
    "dd": {"x": {"y": [1, {"z": "deep"}]}, "items": "shadowed", "k 1": 1.0},
    "m": [
        {"role": "system", "content": "Be brief.", "n": 1},
        {"role": "user", "content": "Hi <|im_end|>", "n": 2, "tags": ["x", "y"]},
        {"role": "assistant", "content": None, "n": 3, "calls": [{"name": "f", "arguments": {"a": 1, "b": "ü"}}]},
        {"role": "User", "content": "  bye\n", "n": 2},
    ],
}


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENVIRONMENT = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation])
ENVIRONMENT.filters["tojson"] = tojson

# Output that cannot be compared: addresses, numbers beyond 64 bits, features refused on purpose.
ADDRESSES = re.compile(r" at 0x|<function|<built-in|<bound|<Macro|<class|<cyclic|generator|jinja2\.")
WIDE = re.compile(r"\d{19}")


def render(source):
    """The case, or None if it tests nothing."""
    try:
        out = ENVIRONMENT.from_string(source).render(copy.deepcopy(CONTEXT))  # |indent of a list would change it
        out.encode()
    except UnicodeEncodeError:
        return None
    except (OverflowError, MemoryError, RecursionError):
        return None
    except Exception:  # noqa: BLE001: whatever Jinja2 raises, the engine must raise too
        return [source, None]
    if ADDRESSES.search(out) or WIDE.search(out) or len(out) > 400:
        return None
    return [source, out]


# Every method and filter on fitting values, with fitting and unfitting arguments.

STR_CALLS = [
    "upper()", "lower()", "title()", "capitalize()", "swapcase()", "casefold()", "strip()", "lstrip()", "rstrip()",
    "strip(' eo.')", "lstrip('H ')", "rstrip('d\\n 🙂')", "strip('')", "split()", "split(',')", "split(' ', 1)",
    "split(none, 1)", "split('')", "split(sep=',', maxsplit=1)", "rsplit()", "rsplit(none, 1)", "rsplit(',', 1)",
    "rsplit(' ', 2)", "splitlines()", "splitlines(true)", "partition(' ')", "rpartition(' ')", "partition('zz')",
    "rpartition('zz')", "replace('l', 'L')", "replace('', '-')", "replace('l', '', 1)", "replace('o', 'ö', 0)",
    "replace(1, 2)", "startswith('H')", "startswith(('x', 'H'))", "startswith('e', 1)", "endswith('d')",
    "endswith(('d', ' '))", "endswith('l', 0, 4)", "startswith('', 99)", "find('o')", "find('o', 5)", "find('zz')",
    "rfind('o')", "find('')", "find('', 99)", "rfind('', 2, 1)", "index('l')", "index('zz')", "rindex('l')",
    "count('l')", "count('')", "count('l', 3, -2)", "center(20)", "center(21, '*')", "ljust(20, '.')", "rjust(20)",
    "rjust(3)", "center(9, 'ab')", "zfill(15)", "expandtabs()", "expandtabs(4)", "isalpha()", "isalnum()", "isdigit()",
    "isdecimal()", "isnumeric()", "isspace()", "islower()", "isupper()", "istitle()", "isascii()", "isprintable()",
    "isidentifier()", "join(['1', '2'])", "join('abc')", "join([1])", "join([])", "removeprefix('He')",
    "removesuffix('ld')", "format(1, 2)", "format_map(d)", "nothing()", "nothing", "encode", "__class__",
]
STRS = ["s", "u", "w", "q", "e", "csv", "num", "'ǆabc ŉx ﬁ İI'", "'٣²½Ⅷ'", "'-42'", "'A1 b2'", "(q|safe)"]
FORMATS = [
    "'{} {}'.format(i, s)", "'{1}{0}{1}'.format(i, f)", "'{a:>6}|{b:<6}|{a:^7}'.format(a=s, b=i)",
    "'{:05d}|{:+d}|{: d}|{:,}|{:_}'.format(i, i, i, big, big)", "'{:x} {:X} {:#o} {:#b}'.format(255, 255, 8, 5)",
    "'{:.2f}|{:8.3f}|{:<8.1f}|{:e}|{:G}|{:%}'.format(f, g, f, h, f, g)", "'{:*^12}|{:0>5}'.format(s, i)",
    "'{!r:>8}|{!s}'.format('a', nil)", "'{m[0][role]} {d[a]}'.format(m=m, d=d)", "'{0.a}'.format(d)", "'{{}} {}'.format(1)",
    "'{:{}}|'.format(s, 15)", "'{:{w}.{p}f}'.format(f, w=9, p=3)", "'{:.3}'.format(s)", "'{}'.format()", "'{'.format(1)",
    "'}'.format(1)", "'{} {0}'.format(1)", "'{:d}'.format(s)", "'{:s}'.format(i)", "'{:5}|{:<5}|{:5}'.format(i, i, t)",
    "'{:.0f} {:.1f} {:g} {:}'.format(2.5, 0.25, 1e7, 1e16)", "'{:=+8d}'.format(n)", "'{:08.2f}'.format(n)",
    "'{:>10}'.format(l)", "'{} {} {} {}'.format(l, d, nil, t)", "'{:+}'.format(f)", "'{:012,}'.format(big // 1000000)",
    "'%s %s' % (s, i)", "'%s' % s", "'%d%%' % f", "'%5s|%-5s|%05d|%+d|% d' % ('a', 'b', i, i, i)", "'%x %X %o' % (255, 255, 8)",
    "'%.2f %8.3f %e %g %G' % (f, g, h, 1e-5, 1e10)", "'%r %s' % (s, l)", "'%(a)s-%(b)d' % d", "'%c%c' % ('x', 65)",
    "'%s' % (1, 2)", "'%s %s' % 1", "'%d' % s", "'%*d|%-*d|' % (5, i, 4, i)", "'%.3s|' % s", "'%s' % l", "'%s' % d",
    "'%i %u' % (i, 3.99)", "'%#x %#o' % (255, 8)", "'abc' % 1", "'abc' % l", "'%z' % 1", "'%' % 1", "'%5.1f%%' % f",
]
FILTER_CALLS = [
    "abs", "attr('a')", "attr('upper')", "batch(2)|list", "batch(3, 'x')|list", "capitalize", "center(20)", "count",
    "d('dflt')", "default('x', true)", "dictsort", "dictsort(true)", "dictsort(false, 'value')", "dictsort(reverse=true)",
    "e", "escape", "filesizeformat", "filesizeformat(true)", "first", "float", "float(1.5)", "forceescape", "format(1)",
    "groupby('role')", "indent", "indent(2, true)", "indent('> ', blank=true)", "indent(width=1, first=true, blank=true)",
    "int", "int(9)", "int(0, 16)", "items|list", "join", "join(', ')", "join('-', attribute='role')", "last", "length",
    "list", "lower", "map('upper')|list", "map(attribute='role')|list", "map(attribute='x.y', default='?')|list",
    "map('default', 'none', true)|join(',')", "max", "min", "max(attribute='n')", "min(case_sensitive=true)", "reject|list",
    "reject('none')|list", "rejectattr('content')|list", "replace('l', '<')", "replace('a', 'b', 1)", "reverse|list", "reverse",
    "round", "round(1)", "round(2, 'ceil')", "round(0, 'floor')", "round(-1)", "safe", "select|list", "select('string')|list",
    "select('odd')|list", "selectattr('tags')|list", "selectattr('role', 'equalto', 'user')|list",
    "selectattr('n', 'gt', 1)|map(attribute='n')|list", "slice(2)|list", "slice(3, 'x')|list", "sort", "sort(true)",
    "sort(case_sensitive=true)", "sort(attribute='role')|map(attribute='n')|list", "sort(attribute='n,role')|map(attribute='role')|list",
    "string", "sum", "sum(start=10)", "sum(attribute='n')", "title", "tojson", "tojson(indent=2)", "tojson(ensure_ascii=true)",
    "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", "tojson(indent=0)", "trim", "trim('Hd ')", "truncate(8)",
    "truncate(8, true)", "truncate(9, true, '…', 0)", "truncate(5, leeway=0, end='')", "unique|list", "unique(true)|list",
    "unique(attribute='n')|list|length", "upper", "urlencode", "wordcount", "xmlattr", "nothing", "items",
]
VALUES = list(CONTEXT) + ["missing", "'x'", "1.0", "100", "1234567", "range(4)", "(1, 2)", "(q|safe)", "d.items()", "d.keys()", "[t, nil, f]"]
TESTS = [
    "defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string", "mapping", "iterable",
    "sequence", "callable", "escaped", "odd", "even", "divisibleby 3", "divisibleby(2)", "lower", "upper", "in [7, 's', 'Hello']",
    "eq 7", "ne 7", "gt 2", "ge 7", "lt 2.5", "le 7", "equalto s", "sameas nil", "not none", "filter", "nothing",
]


def systematic():
    for value, call in itertools.product(STRS, STR_CALLS):
        yield f"{{{{ {value}.{call} }}}}"
    for expression in FORMATS:
        yield f"{{{{ {expression} }}}}"
    for value, call in itertools.product(VALUES, FILTER_CALLS):
        yield f"{{{{ {value}|{call} }}}}"
    for value, test in itertools.product(VALUES, TESTS):
        yield f"{{{{ {value} is {test} }}}}"


# Random expressions. A kind is the most likely type of an expression, so that most expressions are meaningful.


class Expressions:
    def __init__(self, rng):
        self.rng = rng

    def pick(self, *options):
        return self.rng.choice(options)

    def any(self, depth):
        return self.pick(self.number, self.text, self.sequence, self.truth, self.mapping)(depth)

    def number(self, depth):
        if depth == 0:
            return self.pick("i", "n", "z", "f", "g", "t", "0", "1", "2", "10", "0.5", "1e3", "0x1F", "1_000", "m|length")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"{a} / {b}", f"{a} // {b}", f"{a} % {b}", f"({a}) ** 2", f"-{a}",
            f"+{a}", f"({a})", f"{self.text(depth - 1)}|length", f"{a}|abs", f"({a})|round(1)", f"[{a}, {b}]|max",
            f"{self.sequence(depth - 1)}|sum", f"({a} if {self.truth(depth - 1)} else {b})", f"({a})|int", f"l[{a}]",
        )

    def bound(self):
        return self.pick("", "0", "1", "2", "-1", "-2", "i", "n", "t", "nil", "99")

    def text(self, depth):
        if depth == 0:
            return self.pick("s", "u", "w", "q", "e", "csv", "'ab'", '"x\\ty"', "'a' 'b'", "m[1].role", "m[-1]['content']", "'<|x|>'")
        a, b = self.text(depth - 1), self.text(depth - 1)
        x, n, low, high = self.any(depth - 1), self.number(0), self.bound(), self.bound()
        return self.pick(
            f"{a} ~ {x}", f"{a} + {b}", f"{a}|upper", f"({a})[{low}:{high}]", f"({a})[:{high}]", f"({a})[::{low}]", f"({a})[{low}:{high}:-1]",
            f"({a}).strip()", f"({a}).split({b})[0]", f"({a})|replace({b}, 'R')", f"({a})|trim", f"({a}) * {n}", f"({x})|string",
            f"({x})|tojson", f"({self.sequence(depth - 1)})|join('|')", f"{a} if {self.truth(depth - 1)}", f"({a})[{n}]",
            f"{a} if {self.truth(depth - 1)} else {b}", f"'%s:%s' % ({x}, {b})", f"'{{}}!'.format({x})", f"({a})|safe + {b}",
            f"({a})|escape ~ {b}", f"({a}).join(['1', {b}])", f"({a})|title", f"({x})|default({b}, true)", f"({a})|indent(1)",
        )

    def sequence(self, depth):
        if depth == 0:
            return self.pick("l", "ls", "lx", "le", "m", "[1, 2, 3]", "(1, 'a')", "range(3)", "d", "(4,)", "()", "'xyz'")
        a, b = self.sequence(depth - 1), self.sequence(depth - 1)
        n, low, high = self.number(0), self.bound(), self.bound()
        return self.pick(
            f"[{self.any(depth - 1)}, {self.any(depth - 1)}]", f"({a})|list + ({b})|list", f"({a})[{low}:{high}]", f"({a})[::{high}]",
            f"({a})|reverse|list", f"({a})|sort", f"({a})|unique|list", f"({a})|map('string')|list", f"({a})|select|list",
            f"({a})|batch(2)|list", f"{self.text(depth - 1)}.split()", f"({a})|list * 2", f"({self.mapping(depth - 1)}).items()|list",
            f"({a})|select('in', {b})|list", f"({a})|map('default', {self.text(0)})|list", f"({a})|reject('string')|list",
        )

    def mapping(self, depth):
        if depth == 0:
            return self.pick("d", "de", "dd", "m[0]", "{}", "{'a': 1, 'b': [2]}", "dict(a=1, b='x')")
        return self.pick(
            f"{{{self.text(0)}: {self.any(depth - 1)}, 1: {self.any(depth - 1)}}}", f"dict({self.mapping(depth - 1)}, z={self.any(0)})",
            f"({self.mapping(depth - 1)})", f"{self.mapping(depth - 1)} or d",
        )

    def truth(self, depth):
        if depth == 0:
            return self.pick("t", "no", "nil", "missing", "true", "False", "e", "l", "de", "missing is defined")
        a, b = self.any(depth - 1), self.any(depth - 1)
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"{a} == {b}", f"{a} != {b}", f"{x} < {y}", f"{x} <= {y} < {x}", f"{x} >= {y}", f"{self.text(0)} < {self.text(0)}",
            f"not {a}", f"({a} and {b})", f"({a} or {b})", f"{self.text(0)} in {self.text(depth - 1)}", f"{x} in {self.sequence(depth - 1)}",
            f"{self.text(0)} not in {self.mapping(depth - 1)}", f"{a} is {self.pick('string', 'mapping', 'number', 'none', 'not iterable')}",
            f"{self.sequence(0)} == {self.sequence(depth - 1)}", f"{self.text(0)}.startswith('a')",
        )


# Random templates: whitespace control, scopes, loops, macros.

TEXTS = ["a", "\n", "  ", " b ", "\n\n", "\t", "c\n  ", "\n  d", "{", "} }", " \n", "é"]


class Templates:
    def __init__(self, rng):
        self.rng = rng
        self.expressions = Expressions(rng)

    def tag(self, inner):
        left, right = self.rng.choice(["", "", "", "-", "+"]), self.rng.choice(["", "", "", "-", "+"])
        return "{%" + left + f" {inner} " + right + "%}"

    def text(self):
        return "".join(self.rng.choice(TEXTS) for _ in range(self.rng.randint(0, 3)))

    def body(self, depth, in_loop=False, in_call=False):
        return "".join(self.text() + self.statement(depth, in_loop, in_call) for _ in range(self.rng.randint(1, 3))) + self.text()

    def variable(self, in_loop, in_call):
        names = ["x", "y", "ns.v", "i", "missing"]
        if in_loop:
            names += ["loop.index", "loop.index0", "loop.first", "loop.last", "loop.length", "loop.revindex", "loop.previtem",
                      "loop.nextitem", "loop.cycle('o', 'e')", "loop.changed(x)", "loop.depth", "loop"]
        if in_call:
            names += ["caller()", "kwargs", "varargs", "a", "b"]
        name = self.rng.choice(names)
        return "<loop>" if name == "loop" else "{{" + self.rng.choice(["", "-"]) + f" {name} " + self.rng.choice(["", "-"]) + "}}"

    def statement(self, depth, in_loop, in_call):
        tag, pick = self.tag, self.rng.choice
        if depth == 0:
            return pick([
                lambda: self.variable(in_loop, in_call),
                lambda: self.variable(in_loop, in_call),
                lambda: "{#" + pick(["", "-", "+"]) + " note " + pick(["", "-", "+"]) + "#}",
                lambda: tag(f"set {pick(['x', 'y', 'ns.v'])} = {self.expressions.any(0)}"),
                lambda: tag(f"set x = {pick(['x', 'y', 'ns.v'])} ~ {self.expressions.text(0)}"),
                lambda: tag(pick(["break", "continue"])) if in_loop and self.rng.random() < 0.5 else "-",
                lambda: tag("raw") + self.text() + "{{ x }}{% y %}" + tag("endraw"),
            ])()
        inner = self.body(depth - 1, in_loop, in_call)
        condition = self.expressions.truth(1)
        return pick([
            lambda: tag(f"if {condition}") + inner + tag("endif"),
            lambda: tag(f"if {condition}") + inner + tag(f"elif {self.expressions.truth(0)}") + self.text() + tag("else") + self.body(0, in_loop, in_call) + tag("endif"),
            lambda: tag(f"for x in {self.expressions.sequence(0)}") + self.body(depth - 1, True, in_call) + tag("endfor"),
            lambda: tag(f"for x in {self.expressions.sequence(1)} if {self.expressions.truth(0)} and x is not none") + self.body(depth - 1, True, in_call) + tag("else") + self.text() + tag("endfor"),
            lambda: tag("for x, y in d.items()") + self.body(depth - 1, True, in_call) + tag("endfor"),
            lambda: tag("set y") + self.body(depth - 1, False, in_call) + tag("endset") + "{{ y }}",
            lambda: tag("set y | upper | trim") + self.body(depth - 1, False, in_call) + tag("endset") + "{{ y }}",
            lambda: tag("filter upper") + self.body(depth - 1, False, in_call) + tag("endfilter"),
            lambda: tag(f"with x = {self.expressions.any(0)}, y = x") + inner + tag("endwith"),
            lambda: tag("macro k(a, b='B', c=a)") + self.body(depth - 1, False, True) + tag("endmacro") + "{{ k(1) }}{{ k('p', b=2) }}",
            lambda: tag("macro k(a)") + self.body(depth - 1, False, True) + tag("endmacro") + tag("call k(2, 3, z=4)") + self.body(0) + tag("endcall"),
            lambda: tag("for x in [1, [2, [3]], 4] recursive") + "{{ loop(x) if x is iterable else x }}" + self.text() + tag("endfor"),
            lambda: tag("generation") + self.body(depth - 1) + tag("endgeneration"),
            lambda: tag("block k") + self.body(depth - 1) + tag("endblock"),
        ])()

    def template(self):
        return "{% set ns = namespace(v=0) %}" + self.body(self.rng.choice([0, 1, 1, 2]))


# Cases that the generators do not reach.
EXTRA = [
    "{{ [1,2,3][-1] }}{{ 'é🙂x'[1] }}{{ 'abc'[5] }}", "{{ l[1:3] }}{{ l[::-1] }}{{ l[5:] }}{{ 'añb'[::-1] }}{{ l[-100:100:2] }}",
    "{{ range(10)[2:8:3] }}{{ range(3)|list }}{{ range(5, 0, -2)|list }}{{ range(2)[0] }}", "{{ range(1000000) }}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = 1 %}", "{{ 1 if false }}|{{ (1 if false) is defined }}",
    "{{ missing.x }}", "{{ missing }}", "{{ missing + 1 }}", "{{ d.missing }}{{ d.missing.x }}", "{{ nil.x }}|{{ nil.x.y }}",
    "{{ d.items() }}{{ d.keys() }}{{ d.values() }}", "{{ dd.items }}", "{{ dd['items'] }}", "{{ d.get('a') }}{{ d.get('q') }}{{ d.get('q', 5) }}",
    "{{ d.pop('a') }}", "{{ l.append(1) }}", "{{ d.update({}) }}", "{{ d.pop }}|{{ d.pop is defined }}", "{{ ''.__class__ }}", "{{ d._x }}",
    "{% set ns = namespace(a=1) %}{% for x in l %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }}{{ ns.b }}|{{ ns }}",
    "{% set ns.a = 1 %}", "{% set x = 1 %}{% for y in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", "{% do 1 %}", "{% unknown %}",
    "{% macro f(x, y=2, *z) %}{% endmacro %}", "{% macro f(x) %}{{ x }}{% endmacro %}{{ f() }}{{ f(1) }}{{ f(x=2) }}{{ f(1, 2) }}",
    "{% macro f(x) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, a=4) }}", "{% macro f() %}{{ caller('q') }}{% endmacro %}{% call(v) f() %}[{{ v }}]{% endcall %}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro f() %}x{% endmacro %}{{ f() + '<' }}{{ f().upper() }}",
    "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f.name }}{{ f.arguments }}", "{{ f() }}{% macro f() %}{% endmacro %}",
    "{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ f() }}", "{% for x in l %}{% macro f() %}{{ x }}{{ loop.index }}{% endmacro %}{{ f() }}{% endfor %}",
    "{% for x in [] %}{% else %}none{% endfor %}", "{% for x in l %}{% continue %}{% else %}E{% endfor %}", "{% for x in l %}{% break %}{% else %}E{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% if x == 2 %}{% break %}{% endif %}{% endfor %}", "{% break %}", "{% for x in 5 %}{% endfor %}",
    "{% for x in nil %}{% endfor %}", "{% for x in missing %}{% else %}empty{% endfor %}", "{% for c in 'aé' %}[{{ c }}]{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}", "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }};{% endfor %}",
    "{% for x in ls|map('upper') %}{{ loop.revindex }}{{ loop.last }}{{ x }}{% endfor %}", "{% for x in l recursive %}{{ loop(5) }}{% endfor %}", "{% for loop in l %}{% endfor %}",
    "{% for x in l %}{% for y in ls %}{{ loop.index }}{{ loop.depth }}{% endfor %}{{ loop.index }}{% endfor %}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}",
    "{% set j = joiner('|') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}", "{{ joiner()() }}.", "{{ dict([('a', 1)], b=2) }}{{ dict(d) == d }}", "{{ {1: 'a', true: 'b', 1.0: 'c'} }}", "{{ {[1]: 2} }}",
    "{% set x %}a{{ 1 }}{% endset %}{{ x ~ x|length }}", "{% filter replace('a', 'b') %}banana{% endfilter %}", "{% with %}{% endwith %}", "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}",
    "{% print 1, 's' %}", "{{ 'a\\nb\\x41\\u00e9\\101\\q\\'' }}", "{{ \"a\\\nb\" }}", "{{ 'é\\é' }}", "{{ 1.5e3 }}{{ 1e-7 }}{{ 1e16 }}{{ 123456789012345.6 }}{{ 0.1 + 0.2 }}{{ 1e22 }}{{ -0.0 }}",
    "{{ 7 // 2 }}{{ -7 // 2 }}{{ 7 % -3 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}{{ 2 ** 10 }}{{ 2 ** -1 }}{{ 4 ** 0.5 }}{{ 2 ** 3 ** 2 }}{{ -2 ** 2 }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}",
    "{{ 1 < 2 < 3 }}{{ 3 > 2 > 2 }}{{ 1 == 1.0 == true }}{{ 'a' < 'b' }}{{ [1, 2] < [1, 3] }}{{ (1,) == [1] }}", "{{ 'a' < 1 }}", "{{ nil < 1 }}", "{{ 1 in 'a' }}", "{{ 1 + '1' }}", "{{ '1' + 1 }}", "{{ [1] + (2,) }}", "{{ 'a' * 3 }}{{ 3 * 'a' }}{{ [1] * 2 }}{{ 'a' * -1 }}{{ 'ab' * 2.0 }}",
    "{{ true + true }}{{ true|int }}{{ not 0 }}{{ true and 'x' }}{{ 0 or [] }}", "{{ 1 is divisibleby 0 }}", "{{ s is string and i is number }}{{ x is defined or 1 }}", "{{ 3 is not odd }}{{ 's' is in 'xs' }}", "{{ i is odd is true }}",
    "{{ l|map('nothing')|list }}", "{{ l|map|list }}", "{{ m|map(attribute='role', nothing=1)|list }}", "{% if false %}{{ 1|nothing }}{% endif %}ok", "{{ 1|nothing if false else 2 }}", "{% if false %}{% for x in l %}{{ x|nothing }}{% endfor %}{% endif %}",
    "{{ l|first }}{{ le|first }}{{ le|last }}{{ s|first }}{{ d|first }}{{ m|map(attribute='n')|first }}", "{% set g = l|map('string') %}{{ g|list }}{{ g|list }}", "{{ l|map('string') is iterable }}{{ (l|select)[0] is defined }}",
    "{{ m|groupby('n')|map('first')|list }}{% for g in m|groupby('n') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}", "{{ m|groupby('role')|map(attribute='grouper')|list }}", "{{ ls|groupby(0) }}", "{{ m|selectattr('calls.0.name', 'eq', 'f')|list|length }}",
    "{{ (q|safe) + '<' }}{{ '<' + (q|safe) }}{{ (q|safe) ~ '<' }}{{ ('%s<'|safe) % '>' }}{{ ('{}<'|safe).format('>') }}{{ '<'|e|e }}{{ '<'|escape|forceescape }}", "{{ [q|safe] }}{{ [q] }}{{ (q|safe).split() }}", "{{ ('<'|safe).join(['>', 'a']) }}{{ ('a<b'|safe).replace('a', '<') }}{{ ('a'|safe) * 2 }}",
    "{{ [u, w, q, '\\x00\\x7f\\u200b'] }}", "{{ {'a': nil, 'b': [true, 1.0], q: w} }}", "{{ (1,) }}{{ () }}{{ (1, 'a') }}", "{{ {'a': [1, {}], 'b': []}|tojson(indent=1) }}", "{{ {1: 2, nil: 3, true: 4, 1.5: 5}|tojson }}", "{{ {(1, 2): 3}|tojson }}", "{{ missing|tojson }}", "{{ '\\x00\\x1f\\x7f\"\\\\/é🙂'|tojson }}{{ '\\x7fé🙂'|tojson(ensure_ascii=true) }}",
    "{{ [1.0, 1e100, 0.1]|tojson }}", "{{ l|tojson(indent='--') }}", "{{ 'x'|tojson(separators=1) }}", "{{ 'a'.join(ls|sort) }}", "{{ namespace(**d).a }}{{ dict(*[d]) }}{{ '{a}{b}'.format(**d) }}{{ '{}{}'.format(*ls) }}", "{{ '{a}'.format(a=1, **{'a': 2}) }}", "{{ range(*[1, 3])|list }}",
    "{% raw %}{{ x }}{% endraw %}", "  {%- raw -%}  {{ x }}  {%- endraw -%}  .", "a\n  {% raw %}\n b {% endraw %}\n c", "{# a #}b{#- c -#} d", "{#", "{{", "{% if %}", "{{ }}", "{% if 1 %}", "{{ (1 }}", "{{ 1 2 }}", "{{ [1, }}", "a\n", "a\n\n", "\n", "a\r\nb\rc\n", "{{ '\\n' }}\n", "{{ 'unclosed }}",
    "{%- if 1 -%} a {%- endif -%}", "a\n  {%+ if 1 %}\n b {% endif +%}\n c", "x {{- 1 -}} y", "  {{ 1 }}\n  {% if 1 %}\n  z\n  {% endif %}\n", "{% for x in [1, 2] -%}\n  {{ x }}\n{%- endfor %}", "{%-if 1-%}a{%-endif-%}", "{{-1}}{{+1}}{{ - 1 }}",
    "{{ {'a': {'b': {}}} }}", "{{ [[]] }}{{ {}}}", "{{ l.0 }}{{ d.a }}{{ m.0.role }}{{ m[0].role.upper() }}", "{{ l[0, 1] }}", "{{ l['a'] }}{{ d[0] }}{{ s['upper']() }}", "{{ s.upper }}", "{{ i() }}", "{{ s() }}", "{{ loop }}", "{% extends 'a' %}", "{% include 'a' %}", "{% import 'a' as b %}",
    "{{ '%s' % nil }}{{ nil ~ true ~ 1.0 }}{{ [nil] ~ '' }}", "{{ ''|int }}{{ '12_3'|int }}{{ ' 12 '|int }}{{ '0x1f'|int(0, 16) }}{{ '1e3'|int }}{{ 'inf'|int(3) }}{{ nil|int }}{{ 3.99|int }}{{ '٣'|int(1) }}", "{{ '1e400'|float }}{{ 'nan'|float }}{{ '-inf'|float }}{{ '.5'|float }}{{ '1_0.5'|float }}{{ 'x'|float }}",
    "{{ 2.5|round }}{{ 3.5|round }}{{ 0.125|round(2) }}{{ 2.675|round(2) }}{{ 1234|round(-2) }}{{ 1250|round(-2) }}{{ 5|round }}{{ 1.21|round(1, 'ceil') }}{{ 1.29|round(1, 'floor') }}", "{{ 0|filesizeformat }}{{ 1|filesizeformat }}{{ 999|filesizeformat }}{{ 1500000|filesizeformat }}{{ 1024|filesizeformat(true) }}{{ 1e30|filesizeformat }}",
    "{{ 'a b&c/d=é'|urlencode }}{{ {'a b': 'c&d', 'e': 1}|urlencode }}{{ [('x', 'y')]|urlencode }}", "{{ {'class': 'a<b', 'id': nil, 'n': 1}|xmlattr }}", "{{ 'foo-bar (baz) [qux] {x} <y> it\\'s'|title }}{{ \"foo-bar it's\".title() }}", "{% generation %}a{% set i = 9 %}{{ i }}{% endgeneration %}{{ i }}", "{{ 'a' if i == 7 else 'b' if t else 'c' }}",
    "{% set x = 5 %}{% block b %}{{ x }}{% set x = 6 %}{% endblock %}{{ x }}", "{% for y in l %}{% block c scoped %}{{ y }}{% endblock %}{% endfor %}", "{% for y in [1] %}{% block c2 %}{{ y }}{% endblock %}{% endfor %}", "{{ l is iterable }}{{ 1 is iterable }}{{ missing is iterable }}{{ missing is sequence }}{{ d.items() is sequence }}{{ range is callable }}",
]


def main():
    rng = random.Random(SEED)
    expressions, templates = Expressions(rng), Templates(rng)
    seen, cases, size = set(), [], 0

    def add(source):
        nonlocal size
        if source in seen:
            return False
        seen.add(source)
        case = render(source)
        if case is None:
            return False
        cases.append(case)
        size += len(json.dumps(case, ensure_ascii=False).encode()) + 2
        return True

    for source in EXTRA:
        add(source)
    grid = list(systematic())
    for source in rng.sample(grid, len(grid)):
        # Most combinations of a filter and a value that fails are of one kind; a tenth of them is enough.
        if render(source) is not None and (render(source)[1] is not None or rng.random() < 0.1):
            add(source)
        if size > MAX_BYTES * 0.45:
            break
    for part, make in ((0.75, lambda: f"{{{{ {expressions.any(rng.choice([1, 2, 2, 3]))} }}}}"), (1.0, templates.template)):
        while size < MAX_BYTES * part:
            source = make()
            if len(source) < 300 and (render(source) or [0, None])[1] is None and rng.random() < 0.8:
                continue  # keep few failures
            if len(source) < 300:
                add(source)
    print(json.dumps({"context": CONTEXT}, ensure_ascii=False)[:-1] + ', "cases": [')
    print(",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases))
    print("]}")


if __name__ == "__main__":
    main()
