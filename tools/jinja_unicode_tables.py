#!/usr/bin/env python3
"""Writes src/text/jinja/value/python_character_tables.inc: where Python's str methods differ from a character's
general category and its simple case mappings (both from utf8proc). Needs only Python's own tables.

    tools/jinja_unicode_tables.py > src/text/jinja/value/python_character_tables.inc
"""

import unicodedata

ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def ranges(predicate):
    out = []
    for char in filter(predicate, ALL):
        code = ord(char)
        if out and out[-1][1] == code - 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def category(char):
    return unicodedata.category(char)


def is_case_ignorable(char):
    # Only visible through the final sigma: after a cased letter and ignorable characters it has its own form.
    return ("A" + char + "Σ").lower()[-1] == "ς" and ("1" + char + "Σ").lower()[-1] != "ς"


def wrapped(entries):
    line = " "
    for entry in entries:
        if len(line) + len(entry) + 1 > 118:
            print(line)
            line = " "
        line += " " + entry
    print(line)


def write_ranges(name, predicate):
    print(f"constexpr CodeRange {name}[] = {{")
    wrapped(f"{{{a:#x}, {b:#x}}}," for a, b in ranges(predicate))
    print("};")


def write_expansions(name, convert):
    print(f"constexpr Expansion {name}[] = {{")
    wrapped(
        f"{{{ord(c):#x}, {{{', '.join(hex(ord(x)) for x in convert(c))}}}}}," for c in ALL if len(convert(c)) > 1
    )
    print("};")


print(f"// Made by tools/jinja_unicode_tables.py from Unicode {unicodedata.unidata_version}; not to be edited.")
write_ranges("kOtherLowercase", lambda c: c.islower() and category(c) != "Ll")
write_ranges("kOtherUppercase", lambda c: c.isupper() and category(c) != "Lu")
write_ranges("kOtherDigit", lambda c: c.isdigit() and not c.isdecimal())
write_ranges("kOtherNumeric", lambda c: c.isnumeric() and category(c) not in ("Nd", "Nl", "No"))
write_ranges(
    "kOtherCaseIgnorable", lambda c: is_case_ignorable(c) and category(c) not in ("Mn", "Me", "Cf", "Lm", "Sk")
)
print("constexpr char32_t kDecimalZeros[] = {")
wrapped(f"{ord(c):#x}," for c in ALL if c.isdecimal() and unicodedata.decimal(c) == 0)
print("};")
write_expansions("kUpperExpansions", str.upper)
write_expansions("kTitleExpansions", str.title)
