"""inspect on generated checkpoints: packings that were once missed, and (slow) three hundred at random."""

import collections
import dataclasses

import pytest

from generated_zoo.draw import Case, draw_case
from generated_zoo.model import Sizes
from generated_zoo.packing import Packing
from generated_zoo.run import run_case

LEAST_SHARE = 0.8  # of those that are right; docs/GENERATED_ZOO.md has the table

EVEN = Sizes(hidden=256, intermediate=320, heads=8, kv_heads=1, head_dim=32)
WIDE = Sizes(hidden=128, intermediate=320, heads=4, kv_heads=4, head_dim=32)
BYTES = Packing("words", 2, True, "uint8", table="m0p")
STREAM = Packing("stream", 5, False, "uint8", table="unsigned", zero="float", scale_dtype="float32")

MISSED = {
    "rows with a zero point of their own": Case(43, STREAM, EVEN, "named", "execution"),
    "zero points beside the scales": Case(
        44, dataclasses.replace(STREAM, kind="words", bits=4, zero="bytes"), EVEN, "grouped",
        "execution"),
    "seven bits across bytes": Case(
        45, dataclasses.replace(STREAM, bits=7, table="offset", zero="none"), EVEN, "grouped",
        "shuffled"),
    "a table whose zero does not occur": Case(
        273, dataclasses.replace(BYTES, table="twos", order="high", divide=True,
                                 scale_dtype="float32"), EVEN, "grouped", "execution"),
    "group scales of loose tensors": Case(
        72, dataclasses.replace(BYTES, scale="group", group=64, stride=32, divide=True,
                                scale_dtype="float32"),
        Sizes(hidden=128, intermediate=512, heads=4, kv_heads=1, head_dim=32), "flat",
        "alphabetical"),
    "one scale a loose tensor": Case(
        87, dataclasses.replace(BYTES, orient="KN", word="int8", scale="tensor"), EVEN, "flat",
        "execution"),
    "more down projections than layers": Case(
        286, Packing("base3", 0, True, "uint8", order="high", scale_shape="column"), WIDE, "flat",
        "execution"),
}


@pytest.mark.parametrize("name", MISSED)
def test_what_was_once_missed_is_right(program, name):
    result = run_case(str(program), MISSED[name])
    assert result["outcome"] == "right", result["detail"]


@pytest.mark.slow
def test_three_hundred_at_random(program):
    results = [run_case(str(program), draw_case(seed)) for seed in range(1, 301)]
    counts = collections.Counter(result["outcome"] for result in results)
    print(counts)
    assert counts["WRONG"] == 0
    assert counts["right"] >= LEAST_SHARE * len(results)
