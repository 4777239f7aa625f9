"""Vocabularies in the keys of GGUF files, which gguf-py writes: the ids of sentencepiece and of
transformers' rules for SentencePiece BPE, and of the tokenizers library for the named ways of
splitting text."""

import json
import random
import struct
import subprocess

import gguf
import numpy as np
import pytest
import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers.tokenization_utils_base import generate_merges

from tokenizer_oracle import DEEPSEEK, LLAMA3, O200K, PROGRAM, QWEN2, SENTENCES, bare, split

STRINGS = 2000
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
CODER = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+"]


def texts(count, seed):
    """Cuts of sentences of many scripts run together, with blanks and bytes of all kinds."""
    rng = random.Random(seed)
    pieces = [*SENTENCES, "  ", " ", "\n\n", "▁", "aaaa", "1234567", "\U0001f99c", "\u0e01\u0e33", "ʘ"]
    found = ["", " ", "▁"]
    while len(found) < count:
        text = ""
        for _ in range(rng.randint(1, 5)):
            piece = rng.choice(pieces)
            begin = rng.randrange(len(piece))
            text += piece[begin:begin + rng.randint(1, 24)] + rng.choice(["", "", " ", "  "])
        found.append(text)
    return found


def write(path, model, tokens, types, keys):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    keys(writer)
    writer.add_tensor("token_embd.weight", np.zeros((1, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tokenize(path, lines, *options):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    result = subprocess.run([str(PROGRAM), "tokenize", str(path), *options], input=text,
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]]


# Pieces of a SentencePiece BPE vocabulary -----------------------------------------------------


def train(folder, **options):
    path = folder / "spm"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 20), model_prefix=str(path), model_type="bpe",
        vocab_size=900, normalization_rule_name="identity", remove_extra_whitespaces=False,
        hard_vocab_limit=False, minloglevel=2, **options)
    return sentencepiece.SentencePieceProcessor(model_file=f"{path}.model")


def kind(model, index):
    for check, value in [(model.is_unknown, gguf.TokenType.UNKNOWN),
                         (model.is_control, gguf.TokenType.CONTROL),
                         (model.is_unused, gguf.TokenType.UNUSED),
                         (model.is_byte, gguf.TokenType.BYTE)]:
        if check(index):
            return value
    return gguf.TokenType.NORMAL


def write_pieces(path, model, scores=None, prefix=None):
    ids = range(model.vocab_size())

    def keys(writer):
        writer.add_token_scores(scores or [model.get_score(i) for i in ids])
        writer.add_bos_token_id(model.bos_id())
        writer.add_eos_token_id(model.eos_id())
        if prefix is not None:
            writer.add_add_space_prefix(prefix)

    return write(path, "llama", [model.id_to_piece(i) for i in ids], [kind(model, i) for i in ids],
                 keys)


@pytest.mark.parametrize("prefix", [True, False], ids=["prefix", "no-prefix"])
@pytest.mark.parametrize("byte_fallback", [True, False], ids=["bytes", "unk"])
def test_pieces_are_those_of_sentencepiece(tmp_path, byte_fallback, prefix):
    model = train(tmp_path, byte_fallback=byte_fallback, character_coverage=0.98,
                  add_dummy_prefix=prefix)
    path = write_pieces(tmp_path / "model.gguf", model, prefix=None if prefix else False)
    lines = texts(STRINGS, 1)
    expected = [model.encode(line) for line in lines]
    found = tokenize(path, lines, "--json-lines", "--bare", "--special-as-text")
    assert found == expected
    assert len({index for ids in expected for index in ids}) > 500
    if byte_fallback:
        assert any(model.is_byte(index) for ids in expected for index in ids)
        decoded = tokenize(path, expected, "--decode")
        assert decoded == [model.decode(ids) for ids in expected]
    else:
        assert any(model.unk_id() in ids for ids in expected)
    assert tokenize(path, ["a"], "--json-lines") == [[model.bos_id(), *model.encode("a")]]


def with_scores(model, scores):
    """The serialised model (protocol buffers: pieces first, each text, score, type) with others."""
    data, at = bytearray(model), 0
    for score in scores:
        assert data[at] == 0x0A and data[at + 1] < 0x80  # a piece of less than 128 bytes
        text = data[at + 3]
        place = at + 4 + text
        assert data[at + 2] == 0x0A and data[place] == 0x15
        data[place + 1:place + 5] = struct.pack("<f", score)
        at += 2 + data[at + 1]
    return bytes(data)


def test_pieces_of_equal_score_join_from_the_left(tmp_path):
    """Scores that tie, which training does not give: the order of merges alone cannot say it."""
    model = train(tmp_path, byte_fallback=True)
    scores = [float(-(i // 40)) for i in range(model.vocab_size())]
    tied = sentencepiece.SentencePieceProcessor(
        model_proto=with_scores((tmp_path / "spm.model").read_bytes(), scores))
    lines = texts(STRINGS, 2)
    expected = [tied.encode(line) for line in lines]
    assert expected != [model.encode(line) for line in lines]
    path = write_pieces(tmp_path / "model.gguf", tied, scores)
    assert tokenize(path, lines, "--json-lines", "--bare", "--special-as-text") == expected


def test_pieces_are_those_of_transformers(tmp_path):
    model = train(tmp_path, byte_fallback=True, character_coverage=0.98)
    ids = range(model.vocab_size())
    vocab = {model.id_to_piece(i): i for i in ids}
    scores = {model.id_to_piece(i): model.get_score(i) for i in ids
              if kind(model, i) == gguf.TokenType.NORMAL}
    oracle = Tokenizer(models.BPE(vocab, generate_merges(vocab, scores), unk_token="<unk>",
                                  fuse_unk=True, byte_fallback=True))
    oracle.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    oracle.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
         decoders.Strip(" ", 1, 0)])
    oracle.add_special_tokens(["<unk>", "<s>", "</s>"])
    lines = [line + rest for line, rest in zip(
        texts(STRINGS, 3), ["", "<s>", " </s> und"] * STRINGS, strict=False)]
    expected = [oracle.encode(line, add_special_tokens=False).ids for line in lines]
    path = write_pieces(tmp_path / "model.gguf", model)
    assert tokenize(path, lines, "--json-lines", "--bare") == expected
    assert tokenize(path, expected, "--decode", "--keep-special") == [
        oracle.decode(ids, skip_special_tokens=False) for ids in expected]


# Ways of splitting text before byte-level BPE --------------------------------------------------


def digits(individual):
    return pre_tokenizers.Digits(individual_digits=individual)


def steps(*parts):
    return pre_tokenizers.Sequence(list(parts))


WAYS = {
    "gpt-2": (pre_tokenizers.ByteLevel(add_prefix_space=False), None),
    "smollm": (steps(digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)), None),
    "starcoder": (steps(digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)), None),
    "refact": (steps(digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)), None),
    "command-r": (steps(digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)),
                  normalizers.NFC()),
    "llama-bpe": (steps(split(LLAMA3), bare()), None),
    "qwen2": (steps(split(QWEN2), bare()), normalizers.NFC()),
    "deepseek-coder": (steps(*map(split, CODER), digits(True), bare()), None),
    "deepseek-v3": (steps(*map(split, DEEPSEEK), bare()), None),
    "falcon": (steps(pre_tokenizers.Punctuation("contiguous"),
                     pre_tokenizers.ByteLevel(add_prefix_space=False), digits(False),
                     split("[0-9][0-9][0-9]")), None),
    "gpt-4o": (steps(split(O200K), bare()), None),
    "tekken": (steps(split(TEKKEN), bare()), None),
}


@pytest.fixture(scope="module")
def greedy_vocabulary():
    """Merges over text that is not cut, so that how it is cut later decides the ids."""
    from tokenizers import trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = bare()
    trainer = trainers.BpeTrainer(vocab_size=1500, show_progress=False, min_frequency=1,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(
        [line[at:at + 12] for line in texts(400, 4) for at in range(0, len(line), 7)], trainer)
    return json.loads(tokenizer.to_str())["model"]


@pytest.mark.parametrize("name", WAYS)
def test_each_way_of_splitting_is_that_of_the_library(name, greedy_vocabulary, tmp_path):
    vocab = greedy_vocabulary["vocab"]
    merges = [tuple(merge) for merge in greedy_vocabulary["merges"]]
    oracle = Tokenizer(models.BPE(vocab, merges, ignore_merges=name in ("llama-bpe", "tekken")))
    oracle.pre_tokenizer, normalizer = WAYS[name]
    if normalizer is not None:
        oracle.normalizer = normalizer

    def keys(writer):
        writer.add_tokenizer_pre(name)
        writer.add_token_merges([" ".join(merge) for merge in merges])
        writer.add_add_bos_token(False)

    path = write(tmp_path / "model.gguf", "gpt2", sorted(vocab, key=vocab.get),
                 [gguf.TokenType.NORMAL] * len(vocab), keys)
    lines = texts(STRINGS // 10, 5)
    found = tokenize(path, lines, "--json-lines")
    assert found == [oracle.encode(line).ids for line in lines]
    oracle.pre_tokenizer = bare()
    assert found != [oracle.encode(line).ids for line in lines]
