"""Every code point is cut, normalised and stripped as by the `tokenizers` library.

One tokenizer for each thing that looks at character classes. Boundaries show in the ids because
the last step puts a blank before every piece. A code point that differs is named; none may.

By default the planes 0, 1 and the tags, and one in 61 elsewhere (CJK extensions, private use,
unassigned); all 1,112,064 with the slow tests.
"""

import json
import subprocess

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tokenizer_oracle import DEEPSEEK, LLAMA3, O200K, PROGRAM, bare, split

EVERY = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
MOST = [c for c in EVERY if ord(c) < 0x20000 or 0xE0000 <= ord(c) < 0xE0200 or ord(c) % 61 == 0]
BLOCK = 512


def tokenizer_of(*steps, normalizer=None, added=()):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, bare(True)])
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.add_tokens(list(added))
    return tokenizer


CASES = {
    "ByteLevel": ("a{0}1{0} {0}'{0}\n", lambda: tokenizer_of(
        pre_tokenizers.ByteLevel(add_prefix_space=False))),
    "llama3": ("a{0}1{0} {0}'{0}\n", lambda: tokenizer_of(split(LLAMA3))),
    "o200k": ("A{0}a{0} B{0}'{0}", lambda: tokenizer_of(split(O200K))),
    "deepseek": ("a{0}!{0}1 {0}一{0}", lambda: tokenizer_of(*map(split, DEEPSEEK))),
    "regex words": ("a{0}", lambda: tokenizer_of(
        split(r"\w"), split(r"\d"), split(r"\s", "removed"))),
    "Digits and Punctuation": ("a{0}", lambda: tokenizer_of(
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("removed"))),
    "Whitespace": ("a{0}", lambda: tokenizer_of(pre_tokenizers.Whitespace())),
    "WhitespaceSplit": ("a{0}", lambda: tokenizer_of(pre_tokenizers.WhitespaceSplit())),
    "NFC": ("a{0}{0}\u0301\u0323", lambda: tokenizer_of(normalizer=normalizers.NFC())),
    "NFC, marks before": ("a\u0345{0}\u0327\u1100\u1161{0}", lambda: tokenizer_of(
        normalizer=normalizers.NFC())),
    "NFD": ("a\u0301{0}\u0323", lambda: tokenizer_of(normalizer=normalizers.NFD())),
    "added tokens": ("{0}<w>{0}<l>{0}<r>{0}<w>a", lambda: tokenizer_of(added=[
        AddedToken("<w>", single_word=True), AddedToken("<l>", lstrip=True),
        AddedToken("<r>", rstrip=True)])),
}


def ours(path, texts):
    result = subprocess.run(
        [PROGRAM, "tokenize", path, "--json-lines"], check=True, capture_output=True, text=True,
        input="".join(json.dumps(text) + "\n" for text in texts))
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("code_points", [
    pytest.param(MOST, id="most"), pytest.param(EVERY, id="every", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_code_points(name, code_points, tmp_path):
    pattern, make = CASES[name]
    path = tmp_path / "tokenizer.json"
    make().save(str(path))
    theirs = Tokenizer.from_file(str(path))
    each = [pattern.format(c) for c in code_points]
    blocks = ["".join(each[i:i + BLOCK]) for i in range(0, len(each), BLOCK)]
    suspects = []
    for i, (text, ids) in enumerate(zip(blocks, ours(path, blocks), strict=True)):
        if theirs.encode(text).ids != ids:
            suspects += each[i * BLOCK:(i + 1) * BLOCK]
    different = [text for text, ids in zip(suspects, ours(path, suspects), strict=True)
                 if theirs.encode(text).ids != ids]
    assert not different and not suspects, [text.encode("unicode_escape") for text in different]
