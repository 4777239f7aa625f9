"""Training texts: the teacher's stories filtered, grammar stories, and both packed into rows of whole stories."""

import gzip
import json
import pathlib
import random
import re

import torch
from grammar import full_story
from tokenizers import Tokenizer

PLAIN = {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2014": ", ", "*": ""}
CLOSINGS = [
    "In the end, {n} was very happy.",
    "{n} smiled and went home.",
    "That night, {n} slept well and had a good dream.",
    "It was the best day ever.",
    "{n} was very happy.",
]
REPEAT = 5  # a sentence that repeats so many words in a row is cut away with all that follows
COPY = 24  # two stories that share so many words in a row count as near copies


def read_lines(path: pathlib.Path) -> list[dict]:
    """The objects of a JSON-lines file, which may be gzipped."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.decode().splitlines()]


def words(text: str) -> list[str]:
    """The words of a text in small letters."""
    return re.findall(r"[a-z']+", text.lower())


def clean(line: dict, r: random.Random) -> str | None:
    """A teacher story on one line, cut before it repeats itself, sometimes with a closing sentence; None if too short.

    The cut falls at a sentence end outside quotes, before the first sentence that was said already or that repeats
    REPEAT words in a row. The opening itself is never cut.
    """
    text = " ".join(line["text"].split())
    for old, new in PLAIN.items():
        text = text.replace(old, new)
    kept: list[str] = []
    said: set[str] = set()
    grams: set[tuple[str, ...]] = set()
    for found in re.findall(r'.*?[.!?]"?(?= |$)', text):
        sentence = found.strip()
        w = words(sentence)
        new_grams = [tuple(w[i : i + REPEAT]) for i in range(len(w) - REPEAT + 1)]
        if " ".join(w) in said or "story" in w:
            break
        if len(set(new_grams) - grams) < len(new_grams):
            break
        said.add(" ".join(w))
        grams.update(new_grams)
        kept.append(sentence)
    while kept and " ".join(kept).count('"') % 2:
        kept.pop()
    text = " ".join(kept)
    if not text.isascii() or len(text) < len(line["start"]) + 60:
        return None
    if r.random() < 0.6:
        name = line.get("name") or re.search(r"named (\w+)", text).group(1)
        text += " " + r.choice(CLOSINGS).format(n=name)
        if r.random() < 0.25:
            text += " The end."
    return text


def runs(text: str) -> set[tuple[str, ...]]:
    """All runs of COPY words, by which near copies are known."""
    w = words(text)
    return {tuple(w[i : i + COPY]) for i in range(max(1, len(w) - COPY + 1))}


def all_runs(texts: list[str]) -> set[tuple[str, ...]]:
    """The runs of all texts together."""
    return set().union(*(runs(t) for t in texts))


def teacher_stories(paths: list[pathlib.Path], held_out: list[str], seed: int) -> list[str]:
    """Cleaned stories without doubles and without near copies of a held-out text."""
    r, known = random.Random(seed), all_runs(held_out)
    out: dict[str, None] = {}
    for path in paths:
        for line in read_lines(path):
            text = clean(line, r)
            if text and not runs(text) & known:
                out[text] = None
    return list(out)


def grammar_stories(count: int, held_out: list[str], seed: int) -> list[str]:
    """Different stories of the grammar, without near copies of a held-out text."""
    r, known = random.Random(seed), all_runs(held_out)
    out: dict[str, None] = {}
    while len(out) < count:
        text = full_story(r)
        if not runs(text) & known:
            out[text] = None
    return list(out)


class Rows:
    """Endless rows of whole stories from one list, reshuffled and repacked for each epoch; the state is a function
    of the seed and the row number alone, so a run that resumes sees what it would have seen.

    A row is three lists of the row length: token ids, targets (-1: none), number of the story within the row.
    """

    def __init__(self, tok: Tokenizer, texts: list[str], length: int, seed: int) -> None:
        self.stories = [e.ids for e in tok.encode_batch(texts)]
        self.stories = [s for s in self.stories if len(s) < length]
        self.length, self.seed = length, seed
        self.tokens = sum(map(len, self.stories))
        self.epoch, self.first, self.rows = -1, 0, []  # the packed epoch and the number of its first row

    def _pack(self, epoch: int) -> None:
        """Pack one epoch: stories in random order, each into the fullest open row that still holds it."""
        r = random.Random(self.seed * 1_000_003 + epoch)
        order = r.sample(range(len(self.stories)), len(self.stories))
        done: list[list[list[int]]] = []
        open_rows: list[tuple[int, list[list[int]]]] = []
        for i in order:
            ids = self.stories[i]
            if r.random() < 0.125 and len(ids) + 1 < self.length:  # now and then the end mark stands in front
                ids = [0, *ids]
            fits = [j for j, (used, _) in enumerate(open_rows) if used + len(ids) <= self.length]
            if fits:
                j = max(fits, key=lambda j: open_rows[j][0])
                used, row = open_rows.pop(j)
                open_rows.append((used + len(ids), [*row, ids]))
            else:
                open_rows.append((len(ids), [ids]))
            if len(open_rows) > 64:
                done.append(open_rows.pop(max(range(65), key=lambda j: open_rows[j][0]))[1])
        done += [row for _, row in open_rows]
        r.shuffle(done)
        self.first += len(self.rows)
        self.epoch, self.rows = epoch, done

    def row(self, number: int) -> list[list[int]]:
        """The stories of a row; numbers may only grow."""
        while number >= self.first + len(self.rows):
            self._pack(self.epoch + 1)
        return self.rows[number - self.first]


def batch(rows: list[list[list[int]]], length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, targets and story numbers, each [B, length]; a story predicts its next tokens and the end mark 0."""
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    target = torch.full_like(ids, -1)
    story = torch.full_like(ids, -1)
    for i, row in enumerate(rows):
        at = 0
        for j, s in enumerate(row):
            end = at + len(s)
            ids[i, at:end] = torch.tensor(s)
            target[i, at:end] = torch.tensor([*s[1:], 0])
            story[i, at:end] = j
            at = end
    return ids, target, story
