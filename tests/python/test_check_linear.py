"""`trilith.check_linear` passes a right kernel and names the fault of a wrong one."""

import numpy as np
import pytest

import trilith
from trilith._check_linear import _encode
from trilith._decode import _levels

TERNARY = {"symbol": "int", "bits": 2, "container": "U8", "orient": "NK", "code_table": [0, 1, -1, None],
           "law": {"word_bits": 8, "slots": 4, "stride": 1, "slot_order": "low_first", "axis": "K", "unit": "row"},
           "scale": {"index": "row", "op": "mul", "dtype": "F32"}}


def changed(**members):
    return TERNARY | members


def law(**members):
    return changed(law=TERNARY["law"] | members)


def kernel(spec, work=None):
    """A linear that reads the bytes by `spec`, whatever it is checked against."""
    def linear(x, tensors):
        rows = tensors["scale"].shape[0]
        weights = trilith.decode(spec, tensors, rows, x.shape[1])
        y = x.astype(np.float64) @ weights.T
        return work(y, x) if work else y.astype(np.float32)
    return linear


RIGHT = [TERNARY, law(slot_order="high_first"), law(stride=32), law(word_bits=32, slots=16),
         law(word_bits=32, slots=16, byte_order="big"), changed(code_table=[-2, -1, 0, 1]),
         changed(bits=4, code_table="q-8", law=TERNARY["law"] | {"slots": 2}),
         changed(scale={"index": "row x group", "group": 64, "op": "div", "dtype": "F32"}),
         changed(orient="KN")]


@pytest.mark.parametrize("spec", RIGHT, ids=range(len(RIGHT)))
def test_a_right_kernel_passes(spec):
    trilith.check_linear(kernel(spec), spec)


@pytest.mark.parametrize("spec", RIGHT, ids=range(len(RIGHT)))
def test_codes_are_packed_where_the_format_has_them(spec):
    plain = spec | {"scale": {"index": "none"}}
    used = np.flatnonzero(~np.isnan(_levels(plain)))
    codes = np.random.default_rng(4).choice(used, size=(8, 128))
    levels = trilith.decode(plain, {"codes": _encode(plain, codes)}, 8, 128)
    assert np.array_equal(levels, _levels(plain)[codes])


@pytest.mark.parametrize("order", ["low_first", "high_first"])
@pytest.mark.parametrize("table", [[0, 1, -1, None], [-1, 0, 1, None], [-2, -1, 0, 1], [1, -1, 0.5, -0.5]])
def test_every_code_table_is_told_from_its_neighbours(table, order):
    spec = changed(code_table=table, law=TERNARY["law"] | {"slot_order": order})
    trilith.check_linear(kernel(spec), spec)
    turned = [table[1], table[0], *table[2:]]
    with pytest.raises(trilith.LinearFault) as found:
        trilith.check_linear(kernel(spec | {"code_table": turned}), spec)
    assert found.value.fault_class == "code-table"


def tail(y, x):
    y[:, 20:] = 0
    return y


def batch(y, x):
    return np.concatenate([y[:1], y[1:] * 1.01])


def overflow(y, x):
    return np.where(np.abs(y) > 8000, y - np.sign(y) * 65536, y)


@pytest.mark.parametrize("fault, linear", [
    ("bit-order", kernel(law(slot_order="high_first"))),
    ("slot-stride", kernel(law(stride=32))),
    ("code-partial", kernel(changed(code_table=[0, 1, 0, None]))),
    ("zero-point", kernel(changed(code_table=[1, 2, 0, None]))),
    ("sign", kernel(TERNARY, lambda y, x: -y)),
    ("scale-missing", kernel(changed(scale={"index": "none"}))),
    ("scale-inverted", kernel(changed(scale=TERNARY["scale"] | {"op": "div"}))),
    ("scale-shift", lambda x, t: kernel(TERNARY)(x, t | {"scale": np.roll(t["scale"], 1)})),
    ("tail", kernel(TERNARY, tail)),
    ("batch-row", kernel(TERNARY, batch)),
    ("int16-overflow", kernel(TERNARY, overflow)),
    ("nan", kernel(TERNARY, lambda y, x: y if np.abs(x).max() > 0 else y * np.nan)),
    ("uninitialised", kernel(TERNARY, lambda y, x: y * (1 + 1e-9 * np.random.default_rng().random()))),
    ("transpose", kernel(TERNARY, lambda y, x: y.T)),
    ("unclassified", kernel(TERNARY, lambda y, x: y * 1.0001)),
])
def test_a_fault_is_named(fault, linear):
    with pytest.raises(trilith.LinearFault) as found:
        trilith.check_linear(linear, TERNARY)
    assert found.value.fault_class == fault, str(found.value)


def test_what_it_cannot_pack_is_said():
    with pytest.raises(trilith.UnsupportedSpec):
        trilith.check_linear(kernel(TERNARY), changed(symbol="base3"))
