"""Tokenizers of the kinds models ship, and `trilith tokenize` as a running process beside them."""

import json
import os
import pathlib
import subprocess
import tempfile

from tokenizers import (
    AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
    trainers,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRILITH_BUILD", ROOT / "build" / "release"))
PROGRAM = pathlib.Path(os.environ.get("TRILITH_PROGRAM", BUILD / "trilith"))
SAMPLE = ROOT / "models" / "sample" / "tokenizer.json"
# More tokenizer.json files to compare, separated like PATH (SmolLM2's, for example).
MORE = [p for p in os.environ.get("TRILITH_TOKENIZERS", "").split(os.pathsep) if p]

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEEPSEEK = [
    r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]

SENTENCES = [
    "Once upon a time there was a little fox who couldn't sleep.", "I'LL say it's 3.14159, isn't it?",
    "Größenwahn, Übermut und süße Äpfel für 12,50 €.", "L'été où j'ai vu l'œuvre d'Émile : « ça va ? »",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.", "今日は良い天気ですね。東京タワーは333メートルです。",
    "我今天能为你做什么？一二三四五。", "안녕하세요, 오늘 날씨가 참 좋네요.", "مرحبا بالعالم ١٢٣", "नमस्ते दुनिया १२३ क्षत्रिय",
    "สวัสดีชาวโลก", "Xin chào thế giới, tiếng Việt có dấu", "שלום עולם", "Γειά σου Κόσμε", "👩‍👩‍👧‍👦 🇩🇪 ❤️ 🏳️‍🌈 🧑🏽‍🚀",
    "def f(x):\n\treturn {'a': x ** 2}  # ok\r\n\r\n", "https://example.org/a?b=c&d=%20#e", "a\u0301e\u0308 ﬁ Ⅷ ½ x² ㎏ ①②",
    "tabs\t\tand\u00a0nbsp\u2003em\u3000ideographic\u2028line\u0085nel", "zero\u200bwidth\u200djoin\ufeffbom\u00adshy",
    "ſ'ſ 'S K'K İi ıI ß ẞ Ǆ ǅ ǆ", "각 각 ᄀᄀ각", "\x00\x01\x7f\x80", "1234567890 1,000,000 ٣٤٥ Ⅳ 四",
]


def train(tokenizer, size=600, special=(), alphabet=True):
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(special), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if alphabet else [])
    tokenizer.train_from_iterator(SENTENCES * 3, trainer)
    return tokenizer


def byte_level(pre_tokenizer, normalizer=None, special=(), **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return train(tokenizer, special=special)


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def bare(add_prefix_space=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=False)


def template(bos, bos_id):
    return processors.TemplateProcessing(
        single=f"{bos} $A {bos}", pair=f"{bos} $A $B", special_tokens=[(bos, bos_id)])


def smollm2_type():
    tokenizer = byte_level(
        pre_tokenizers.Sequence([
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False)]),
        special=["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.post_processor = template("<|im_start|>", 1)
    return tokenizer


def gpt2_type():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.NFC(),
                           special=["<|endoftext|>"])
    tokenizer.add_special_tokens([
        AddedToken("<mask>", lstrip=True), AddedToken("<sep>", rstrip=True),
        AddedToken("<both>", lstrip=True, rstrip=True), AddedToken("<both>x", lstrip=True)])
    tokenizer.add_tokens([
        AddedToken("word", single_word=True), AddedToken("wor", normalized=False),
        AddedToken("é", normalized=True), AddedToken("e\u0301t", normalized=True),
        AddedToken("a b", single_word=True, rstrip=True, lstrip=True), AddedToken(" x ")])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer


def llama3_type():
    tokenizer = byte_level(pre_tokenizers.Sequence([split(LLAMA3), bare()]),
                           special=["<|begin_of_text|>"], ignore_merges=True)
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(), template("<|begin_of_text|>", 0)])
    return tokenizer


def falcon_type():
    return byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(individual_digits=False), split("[0-9][0-9][0-9]")]))


def character_level(fuse_unk):
    """No byte alphabet, so that there are unknown characters."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse_unk))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFD(), normalizers.Replace(" ", "▁"), normalizers.Prepend("▁"),
        normalizers.Replace(Regex("a+"), "ä")])
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()])
    tokenizer = train(tokenizer, 200, ["<unk>"], alphabet=False)
    tokenizer.add_special_tokens(["<s>"])
    return tokenizer


def split_kind(behavior, invert):
    """A blank before every piece shows where the boundaries are."""
    return byte_level(pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(r"[\p{P}\s]"), behavior, invert), bare(True)]))


KINDS = {
    "smollm2": smollm2_type,
    "gpt2": gpt2_type,
    "llama3": llama3_type,
    "falcon": falcon_type,
    "qwen2": lambda: byte_level(pre_tokenizers.Sequence([split(QWEN2), bare()]), normalizers.NFC()),
    "o200k": lambda: byte_level(pre_tokenizers.Sequence([split(O200K), bare()])),
    "deepseek": lambda: byte_level(
        pre_tokenizers.Sequence([split(p) for p in DEEPSEEK] + [bare(True)])),
    "words": lambda: byte_level(pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Whitespace(), bare(True)])),
    "empty matches": lambda: byte_level(pre_tokenizers.Sequence(
        [split(r"\b"), split(r"\s*", "merged_with_next"), split(r"(?<=\d)(?=\d)"), bare(True)])),
    "unknown": lambda: character_level(False),
    "unknown fused": lambda: character_level(True),
}
for _behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
    for _invert in (False, True):
        KINDS[f"{_behavior} {'inverted' if _invert else 'plain'}"] = (
            lambda behavior=_behavior, invert=_invert: split_kind(behavior, invert))


class Ours:
    """`trilith tokenize` on one tokenizer: a line in, a line out."""

    def __init__(self, path, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "tokenize", path, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, encoding="utf-8")

    def __call__(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"{value!r}: {self.process.stderr.read()}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        self.process.stderr.close()


class Pair:
    """The same tokenizer in both libraries."""

    def __init__(self, name):
        if name in KINDS:
            self.folder = tempfile.TemporaryDirectory()
            path = pathlib.Path(self.folder.name) / "tokenizer.json"
            KINDS[name]().save(str(path))
        else:
            path = pathlib.Path(name)
        self.theirs = Tokenizer.from_file(str(path))
        self.theirs.no_padding()
        self.theirs.no_truncation()
        self.encode = Ours(path, "--json-lines")
        self.encode_plain = Ours(path, "--json-lines", "--bare", "--special-as-text")
        self.decode = Ours(path, "--decode")
        self.decode_all = Ours(path, "--decode", "--keep-special")
        self.vocab_size = max(self.theirs.get_vocab().values()) + 1
        self.specials = [t.content for t in self.theirs.get_added_tokens_decoder().values()]
        self.strings = 0

    def check_text(self, text):
        self.strings += 1
        self.theirs.encode_special_tokens = False
        ids = self.theirs.encode(text).ids
        assert self.encode(text) == ids, repr(text)
        self.check_ids(ids)
        self.theirs.encode_special_tokens = True
        plain = self.theirs.encode(text, add_special_tokens=False).ids
        assert self.encode_plain(text) == plain, repr(text)

    def check_ids(self, ids):
        assert self.decode(ids) == self.theirs.decode(ids), ids
        all_tokens = self.theirs.decode(ids, skip_special_tokens=False)
        assert self.decode_all(ids) == all_tokens, ids

    def close(self):
        for process in (self.encode, self.encode_plain, self.decode, self.decode_all):
            process.close()
