"""Small wrong changes to C++ text, found by patterns: no parser, so what does not compile is thrown away by whoever builds it."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int  # from 1
    kind: str
    before: str  # the whole line
    after: str

    def apply(self, text):
        lines = text.split("\n")
        assert lines[self.line - 1] == self.before, f"{self.path}:{self.line} has changed"
        lines[self.line - 1] = self.after
        return "\n".join(lines)


COMPARISONS = {"<=": "<", "<": "<=", ">=": ">", ">": ">=", "==": "!=", "!=": "=="}
# With spaces, as clang-format leaves them around an operator and not around a template's brackets.
COMPARISON = re.compile(r" (<=|>=|==|!=|<|>) ")
NUMBER = re.compile(r"(?<![\w.'\"])(\d+)(?![\w.'\"])")
LOGIC = re.compile(r" (&&|\|\|) ")
ARITHMETIC = re.compile(r" (\+|-) ")
CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) \()(?!.*;)(.+)(\)(?: \{|.*;)?)$")
# A call, an assignment or an increment that stands alone.
STATEMENT = re.compile(r"^\s+(?!return|co_return|const |auto |case |default|break|continue|using |static|throw|else|if|for|while|do |delete|#)"
                       r"[\w:.\->\[\]*+(][^;{}]*;$")
DECLARATION = re.compile(r"^\s+[\w:<>,*& ]+ [\w\[\]]+(\s*[={(].*)?;$")
ARGUMENTS = re.compile(r"\(([\w.\->]+), ([\w.\->]+)([,)])")


def code_lines(text):
    """The lines that are code, with their numbers: no comments, no strings that continue, no preprocessor, no tables of constants."""
    inside = 0  # depth of braces
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
        depth = inside
        inside += bare.count("{") - bare.count("}")
        stripped = bare.strip()
        if not stripped or stripped.startswith(("//", "#", "*", "R\"", '"')) or " // " in bare and not bare.split(" // ")[0].strip():
            continue
        if depth < 1 or "static_assert" in line or "R\"" in line or "TEST" in line:
            continue
        yield number, line


def outside_strings(line, position):
    return line[:position].count('"') % 2 == 0 and "//" not in line[:position]


def mutations(line):
    """Every changed form of a line, with the kind of the change."""
    for pattern, kind, replace in (
        (COMPARISON, "comparison", lambda m: f" {COMPARISONS[m.group(1)]} "),
        (NUMBER, "constant", lambda m: str(int(m.group(1)) + 1)),
        (LOGIC, "logic", lambda m: " || " if m.group(1) == "&&" else " && "),
        (ARITHMETIC, "arithmetic", lambda m: " - " if m.group(1) == "+" else " + "),
        (ARGUMENTS, "swapped arguments", lambda m: f"({m.group(2)}, {m.group(1)}{m.group(3)}"),
    ):
        for match in pattern.finditer(line):
            if outside_strings(line, match.start()) and match.group(0) != replace(match):
                yield kind, line[: match.start()] + replace(match) + line[match.end():]
    if (match := CONDITION.match(line)) and ";" not in match.group(2):
        yield "condition", f"{match.group(1)}!({match.group(2)}){match.group(3)}"
    if STATEMENT.match(line) and not DECLARATION.match(line) and "= de" not in line and line.count("(") == line.count(")"):
        indent = line[: len(line) - len(line.lstrip())]
        yield "dropped statement", f"{indent};"


def mutants_of(path, text):
    for number, line in code_lines(text):
        for kind, after in mutations(line):
            yield Mutant(path, number, kind, line, after)


def draw(random, sources, count):
    """`count` mutants: each floor (src/FLOOR) and each kind has its turn, so that large floors do not crowd out small ones."""
    by_floor = {}
    for path, text in sorted(sources.items()):
        for mutant in mutants_of(path, text):
            kinds = by_floor.setdefault(path.split("/")[1], {})
            kinds.setdefault(mutant.kind, []).append(mutant)
    floors = sorted(by_floor)
    drawn = []
    while floors and len(drawn) < count:
        random.shuffle(floors)
        for floor in list(floors):
            kinds = by_floor[floor]
            kind = random.choice(sorted(kinds))
            mutants = kinds[kind]
            drawn.append(mutants.pop(random.randrange(len(mutants))))
            if not mutants:
                del kinds[kind]
            if not kinds:
                floors.remove(floor)
    return drawn[:count]
