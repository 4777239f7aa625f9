#!/usr/bin/env python3
"""Writes src/text/unicode_tables.cc: what each code point is, as the `tokenizers` library answers.

The library mixes several Unicode versions (Oniguruma's in regexes, the `regex` crate's, Rust's
standard library's, and an older one in the normalisers). So nothing is taken from a Unicode release:
every code point is put to the pinned library and its answers are written down. Python's
`unicodedata` only proposes single-step decompositions, each of which the library must confirm.

    python tools/make_unicode_tables.py [--check]

--check compares with the file in the tree and fails when it differs.
"""

import argparse
import pathlib
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

PINNED = "0.23.3"
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "src/text/unicode_tables.cc"
CATEGORIES = (
    "Cc Cf Cn Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs"
).split()
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL_TEXT = "".join(map(chr, CODE_POINTS))
HANGUL = range(0xAC00, 0xAC00 + 11172)


def removed_by(pre_tokenizer):
    """The code points that are in no piece of the text of all code points."""
    missing = set(CODE_POINTS)
    for _, (begin, end) in pre_tokenizer.pre_tokenize_str(ALL_TEXT):
        missing.difference_update(CODE_POINTS[begin:end])
    return missing


def matched_by(pattern):
    return removed_by(pre_tokenizers.Split(Regex(pattern), "removed"))


def numbers():
    """What Digits cuts from the 'a' before it."""
    probe = "".join("a" + chr(c) for c in CODE_POINTS)
    pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(probe)
    begins = {begin for _, (begin, _) in pieces}
    return {c for i, c in enumerate(CODE_POINTS) if 2 * i + 1 in begins}


def crate_classes():
    r"""\w and \s of the `regex` crate, from Whitespace = \w+|[^\w\s]+ with the rest removed."""
    word, space = set(), set()
    probe = "".join("a" + chr(c) + " " for c in CODE_POINTS)
    ends = {end: begin for _, (begin, end) in pre_tokenizers.Whitespace().pre_tokenize_str(probe)}
    for i, c in enumerate(CODE_POINTS):
        begin = ends.get(3 * i + 2)
        if begin is None:
            space.add(c)
        elif begin == 3 * i:
            word.add(c)
    return word, space


def describe():
    category = {}
    for name in CATEGORIES:
        if name == "Cs":
            continue
        for c in matched_by(r"\p{%s}" % name):
            assert c not in category, hex(c)
            category[c] = name
    crate_word, crate_space = crate_classes()
    flags = [
        matched_by(r"\s"),
        matched_by(r"\w"),
        crate_space,
        crate_word,
        removed_by(pre_tokenizers.WhitespaceSplit()),
        numbers(),
        removed_by(pre_tokenizers.Punctuation(behavior="removed")),
    ]
    runs, last = [], None
    for c in range(0x110000):
        name = "Cs" if 0xD800 <= c < 0xE000 else category[c]
        value = (CATEGORIES.index(name), sum(1 << i for i, s in enumerate(flags) if c in s))
        if value != last:
            runs.append((c, *value))
            last = value
    return runs


def normalisation():
    nfd, nfc = normalizers.NFD().normalize_str, normalizers.NFC().normalize_str
    decomposed, marks = {}, []
    for c in CODE_POINTS:
        if nfd(chr(c)) != chr(c):
            decomposed[c] = None
        elif nfd("a" + chr(c) + "\u0334") == "a\u0334" + chr(c) or (
            nfd("a\u0345" + chr(c)) == "a" + chr(c) + "\u0345"
        ):
            marks.append(c)

    one_of = {unicodedata.combining(chr(c)): chr(c) for c in marks}
    one_of.pop(0, None)
    classes = {}
    for c in marks:
        if c in (0x334, 0x345):
            classes[c] = {0x334: 1, 0x345: 240}[c]
            continue
        equal = [
            value
            for value, mark in one_of.items()
            if nfd("a" + chr(c) + mark) == "a" + chr(c) + mark
            and nfd("a" + mark + chr(c)) == "a" + mark + chr(c)
        ]
        assert len(equal) == 1, (hex(c), equal)
        classes[c] = equal[0]
    runs = []
    for c, value in sorted(classes.items()):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == value:
            runs[-1][1] = c
        else:
            runs.append([c, c, value])

    steps = []
    for c in decomposed:
        if c in HANGUL:
            continue
        parts = [int(p, 16) for p in unicodedata.decomposition(chr(c)).split()]
        assert len(parts) in (1, 2), hex(c)
        assert nfd(chr(c)) == nfd("".join(map(chr, parts))), hex(c)
        composes = nfc(chr(c)) == chr(c)
        steps.append((c, parts[0], parts[1] if len(parts) == 2 else 0, int(composes)))
    for c in HANGUL:
        assert c in decomposed and nfd(chr(c)) == unicodedata.normalize("NFD", chr(c))
    return runs, steps


def rows(values):
    """The entries of an initialiser, wrapped."""
    text, line = "", "   "
    for value in values:
        entry = " {" + ", ".join(hex(v) if i == 0 or v > 255 else str(v)
                                 for i, v in enumerate(value)) + "},"
        if len(line) + len(entry) > 100:
            text += line + "\n"
            line = "   "
        line += entry
    return text + line + "\n"


def render():
    runs = describe()
    marks, steps = normalisation()
    return (
        f"// Generated by tools/make_unicode_tables.py from tokenizers {tokenizers.__version__}; "
        "do not edit.\n"
        '#include "text/unicode_tables.h"\n\n'
        "namespace trilith::text {\n"
        "namespace {\n\n"
        "// clang-format off\n"
        "constexpr CodePointRun kRuns[] = {\n" + rows(runs) + "};\n\n"
        "constexpr MarkRun kMarks[] = {\n" + rows(marks) + "};\n\n"
        "constexpr Decomposition kDecompositions[] = {\n" + rows(steps) + "};\n"
        "// clang-format on\n\n"
        "}  // namespace\n\n"
        "std::span<const CodePointRun> code_point_runs() { return kRuns; }\n"
        "std::span<const MarkRun> mark_runs() { return kMarks; }\n"
        "std::span<const Decomposition> decompositions() { return kDecompositions; }\n\n"
        "}  // namespace trilith::text\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if tokenizers.__version__ != PINNED:
        sys.exit(f"tokenizers {PINNED} is needed, this is {tokenizers.__version__}")
    text = render()
    if arguments.check:
        if OUTPUT.read_text(encoding="utf-8") != text:
            sys.exit(f"{OUTPUT} is not what tokenizers {PINNED} answers; run without --check")
        return
    OUTPUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
