"""The same ids and the same text as the `tokenizers` library, over the kinds of tokenizer models ship.

TRILITH_TOKENIZERS names further tokenizer.json files (SmolLM2's is compared so).
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokenizer_oracle import KINDS, MORE, SAMPLE, SENTENCES, Pair

EXAMPLES = 2000  # strings for each tokenizer that a model ships; the others get a tenth
SHIPPED = [str(SAMPLE), "smollm2", "gpt2", "llama3", "qwen2", *MORE]

SPACES = " \t\n\r\x0b\x0c\u0085\u00a0\u1680\u2003\u2028\u202f\u3000"
MARKS = "\u0300\u0301\u0305\u0308\u0323\u0327\u0334\u0345\u05b4\u3099\u1161\u11a8\u0f71"


@pytest.fixture(scope="module", params=[*SHIPPED, *(k for k in KINDS if k not in SHIPPED)],
                ids=lambda name: name if name in KINDS else name.split("/")[-2])
def pair(request, report_figure):
    pair = Pair(request.param)
    pair.examples = EXAMPLES if request.param in SHIPPED else EXAMPLES // 10
    yield pair
    report_figure(f"tokenizer {request.param}: {pair.strings} strings compared")
    pair.close()


def texts(specials):
    """Pieces of many kinds run together, so that each meets each."""
    piece = st.one_of(
        st.text(max_size=6),
        st.text("abcdefgh XYZ 0123456789 .,;!?'\"-_()[]{}<>/\\|@#$%^&*~`", max_size=12),
        st.text("astdrvelmASTDRVELMſ'’ ", max_size=6),
        st.text(SPACES, min_size=1, max_size=4),
        st.text("aoe가각ᄀ한か" + MARKS, max_size=6),
        st.text(".,!? \n", max_size=6),
        st.sampled_from(SENTENCES),
        st.sampled_from(SENTENCES).flatmap(
            lambda s: st.tuples(st.integers(0, len(s)), st.integers(0, len(s))).map(
                lambda cut: s[min(cut):max(cut)])),
        st.sampled_from([*specials, "<|endoftext|>", "<mask", "x"]),
    )
    return st.lists(piece, max_size=6).map("".join)


def run(pair, strategy, check):
    @settings(max_examples=pair.examples, deadline=None, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))
    @given(strategy)
    def compare(value):
        check(value)

    compare()


def test_sentences(pair):
    for sentence in SENTENCES:
        pair.check_text(sentence)
        pair.check_text(" " + sentence + "\n\n" + sentence)
    pair.check_text("\n".join(SENTENCES))


def test_generated_texts(pair):
    run(pair, texts(pair.specials), pair.check_text)


def test_generated_ids(pair):
    """Any ids decode alike, also when their bytes are not UTF-8."""
    run(pair, st.lists(st.integers(0, pair.vocab_size - 1), max_size=20), pair.check_ids)


def test_long_words(pair):
    for unit, count in (("a", 20000), (" ", 20000), ("ab", 10000), ("é", 5000), ("1", 5000),
                        ("\n", 5000), (" x", 5000), ("한", 3000)):
        pair.check_text(unit * count)
