"""Packed weights to floats in NumPy, driven by a format sheet's `spec` (docs/FORMATS.md).

Written apart from the C++ decoder, so that each checks the other. A matrix W[N, K] is stored in
lines; a line's elements lie in words by the strided-slot law: with B = stride * slots, element e is
in word (e div B) * stride + (e mod B) mod stride, slot (e mod B) div stride.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Spec = Mapping[str, Any]
Tensors = Mapping[str, np.ndarray]

_FIELD_TYPES = {"U8": np.uint8, "I8": np.int8, "F16": np.float16, "F32": np.float32,
                "BF16": np.uint16, "U16": np.uint16, "I16": np.int16, "I32": np.int32}


class UnsupportedSpec(ValueError):
    """The spec asks for something this decoder cannot do."""


@dataclasses.dataclass(frozen=True)
class _Section:
    """A part of a unit with one stride and one number of slots."""

    first_element: int
    first_word: int
    stride: int
    slots: int
    elements: int
    words: int


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _refuse(what: str, found: object) -> UnsupportedSpec:
    return UnsupportedSpec(f"{what} is not supported here: {found!r}")


class _Line:
    """Where the elements of one line of `extent` elements lie."""

    def __init__(self, law: Spec, extent: int):
        self.extent = extent
        block = re.fullmatch(r"block (\d+)", str(law.get("unit", "row")))
        self.unit_elements = int(block[1]) if block else extent
        self.units = -(-extent // self.unit_elements)
        self.sections = self._sections(law)
        self.unit_words = self.sections[-1].first_word + self.sections[-1].words

    def _sections(self, law: Spec) -> list[_Section]:
        if any(len(section) != 2 for section in law.get("sections", ())):
            raise _refuse("sections", law["sections"])
        if "sections" in law:
            pairs = [(slots, stride, slots * stride) for slots, stride in law["sections"]]
        else:
            slots = law["slots"]
            stride = self._stride(law, slots)
            pairs = [(slots, stride, _round_up(self.unit_elements, slots * stride))]
        sections: list[_Section] = []
        element = word = 0
        for slots, stride, elements in pairs:
            sections.append(_Section(element, word, stride, slots, elements, elements // slots))
            element += elements
            word += elements // slots
        return sections

    def _stride(self, law: Spec, slots: int) -> int:
        stride = law.get("stride", 1)
        if isinstance(stride, int):
            return stride
        if stride == "extent/slots" or re.fullmatch(r"N\*K/\d+", stride):
            return _round_up(self.unit_elements, slots * law.get("granule", 1)) // slots
        rows = re.fullmatch(r"(?:(\d+)\*)?[NK]", stride)  # whole lines apart in the flat matrix
        if rows:
            return int(rows[1] or 1)
        raise _refuse("stride", stride)

    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Per element: unit, word inside it, slot, slots of that word; int64 [extent] each."""
        element = np.arange(self.extent)
        unit, rest = np.divmod(element, self.unit_elements)
        word, slot, slots = (np.zeros(self.extent, np.int64) for _ in range(3))
        for section in self.sections:
            inside = rest - section.first_element
            here = (inside >= 0) & (inside < section.elements)
            run, offset = np.divmod(inside, section.stride * section.slots)
            word = np.where(here, section.first_word + run * section.stride
                            + offset % section.stride, word)
            slot = np.where(here, offset // section.stride, slot)
            slots = np.where(here, section.slots, slots)
        return unit, word, slot, slots


def _fields_bytes(fields: Sequence[Spec], code_bytes: int) -> tuple[dict[str, tuple[int, Spec]], int]:
    """{kind: (offset, field)} and the bytes of all fields; without fields, codes alone."""
    places: dict[str, tuple[int, Spec]] = {}
    offset = 0
    for field in fields or [{"kind": "codes"}]:
        if field.get("dtype", "U8") not in _FIELD_TYPES or field["kind"] == "sub-scales":
            raise _refuse("field", field)
        places.setdefault(field["kind"], (offset, field))
        if field["kind"] == "codes":
            offset += code_bytes
        else:
            offset += field["count"] * np.dtype(_FIELD_TYPES[field["dtype"]]).itemsize
    return places, offset


class _Layout:
    """Byte offsets in the codes tensor of W[rows, cols]."""

    def __init__(self, spec: Spec, rows: int, cols: int):
        law = spec["law"]
        if "bitstream" in law or "tile" in law or (
                "planes" in law and spec["symbol"] != "bit-planes"):
            raise _refuse("law", law)
        self.rows, self.cols = rows, cols
        self.is_nk = spec["orient"] == "NK"
        self.outer, self.inner = (rows, cols) if self.is_nk else (cols, rows)
        axis = law.get("axis", "K")
        self.kind = "flat" if axis == "flat" else "inner" if (axis == "K") == self.is_nk else "outer"
        extent = {"flat": rows * cols, "inner": self.inner, "outer": self.outer}[self.kind]
        self.lines = {"flat": 1, "inner": self.outer, "outer": self.inner}[self.kind]
        self.line = _Line(law, extent)
        self.word_bytes = law["word_bits"] // 8
        unit_codes = self.line.unit_words * self.word_bytes
        self.unit_fields, self.unit_bytes = _fields_bytes(law.get("fields", ()), unit_codes)
        line_codes = self.unit_bytes * self.line.units
        self.line_fields, self.line_bytes = _fields_bytes(law.get("line_fields", ()), line_codes)
        all_codes = self.line_bytes * self.lines
        self.tensor_fields, self.total_bytes = _fields_bytes(law.get("tensor_fields", ()), all_codes)

    def unit_offsets(self) -> np.ndarray:
        """Byte offset of each unit with its fields, int64 [lines, units] (contiguous lines)."""
        line = np.arange(self.lines)[:, None] * self.line_bytes
        unit = np.arange(self.line.units)[None] * self.unit_bytes
        return self.tensor_fields["codes"][0] + line + self.line_fields["codes"][0] + unit

    def word_offsets(self, unit: np.ndarray, word: np.ndarray) -> np.ndarray:
        """Byte offset of the words that elements lie in, int64 [lines, extent]."""
        if self.kind == "outer":
            index = (unit * self.line.unit_words + word) * self.inner
            index = index[None] + np.arange(self.lines)[:, None]
            return self.tensor_fields["codes"][0] + index * self.word_bytes
        inside = self.unit_fields["codes"][0] + word * self.word_bytes
        return self.unit_offsets()[:, unit] + inside[None]

    def to_matrix(self, values: np.ndarray) -> np.ndarray:
        """[lines, extent] -> [N, K]"""
        if self.kind == "flat":
            stored = values.reshape(self.outer, self.inner)
        else:
            stored = values if self.kind == "inner" else values.T
        return stored if self.is_nk else stored.T


def _bytes_of(tensor: np.ndarray, expected: int) -> np.ndarray:
    data = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
    if data.size != expected:
        raise ValueError(f"the codes tensor holds {data.size} bytes; the spec asks for {expected}")
    return data


def _digits(words: np.ndarray, slot: np.ndarray, slots: np.ndarray, law: Spec) -> np.ndarray:
    order, _, mapping = law["digits"].partition(" first, ")
    if mapping == "plain":
        numbers, capacity = words, slots
    elif mapping == "ceil 256/243":  # byte = ceil(number * 256 / 243), five digits always
        numbers, capacity = words * 243 // 256, np.full_like(slots, 5)
    else:
        raise _refuse("digits", law["digits"])
    exponent = slot if order == "lsb" else capacity - 1 - slot
    return numbers // 3**exponent[None] % 3


def _codes(spec: Spec, layout: _Layout, tensor: np.ndarray, width: int) -> np.ndarray:
    """Codes of one plane, int64 [N, K]."""
    law = spec["law"]
    unit, word, slot, slots = layout.line.places()
    data = _bytes_of(tensor, layout.total_bytes)
    offsets = layout.word_offsets(unit, word)
    words = np.zeros(offsets.shape, np.int64 if law["word_bits"] < 64 else np.uint64)
    for i in range(layout.word_bytes):
        place = i if law.get("byte_order", "little") == "little" else layout.word_bytes - 1 - i
        words |= data[offsets + i].astype(words.dtype) << words.dtype.type(8 * place)
    if spec["symbol"] == "base3":
        return layout.to_matrix(_digits(words, slot, slots, law))
    order = law.get("slot_order", "low_first")
    if order == "low_first":
        field = slot
    elif order == "high_first":
        field = slots - 1 - slot
    else:
        field = np.asarray(order)[slot]
    shifted = words >> (field * width).astype(words.dtype)[None]
    return layout.to_matrix((shifted & words.dtype.type((1 << width) - 1)).astype(np.int64))


def _levels(spec: Spec) -> np.ndarray:
    """Level of every code, float64; NaN where a code must not occur."""
    table = spec["code_table"]
    if isinstance(table, Sequence) and not isinstance(table, str):
        return np.array([np.nan if level is None else level for level in table], np.float64)
    if table == "planes":
        planes = spec["law"]["planes"]
        levels = []
        for code in range(1 << len(planes)):
            on = {role for bit, role in enumerate(planes) if code >> bit & 1}
            if {"+", "-"} <= on:
                levels.append(np.nan)
            elif "nonzero" in planes:
                levels.append(("nonzero" in on) * (-1.0 if "sign (1 = -)" in on else 1.0))
            else:
                levels.append(float("+" in on) - float("-" in on))
        return np.array(levels)
    bits = spec["bits"]
    codes = np.arange(1 << bits, dtype=np.float64)
    half = 1 << (bits - 1)
    if table in ("two's complement", "native") and (
            table != "native" or str(spec["container"]).startswith("I")):
        return np.where(codes < half, codes, codes - 2 * half)
    if table in ("unsigned", "native"):
        return codes
    offset = re.fullmatch(r"q([-+]\d+)", str(table))
    if offset:
        return codes + int(offset[1])
    raise _refuse("code_table", table)


def _as_floats(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "BF16" and values.dtype == np.uint16:
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


def _inline_scales(spec: Spec, layout: _Layout, codes: np.ndarray) -> np.ndarray:
    """Scales among the codes: [lines, units], [lines, 1] or [1, 1]."""
    data = _bytes_of(codes, layout.total_bytes)
    place = spec["scale"]["place"]
    fields = {"block": layout.unit_fields, "line": layout.line_fields,
              "tail": layout.tensor_fields}[place]
    inside, field = fields["scale"]
    if place == "block":
        starts = layout.unit_offsets()
    elif place == "line":
        starts = (layout.tensor_fields["codes"][0]
                  + np.arange(layout.lines)[:, None] * layout.line_bytes)
    else:
        starts = np.zeros((1, 1), np.int64)
    dtype = np.dtype(_FIELD_TYPES[field["dtype"]])
    raw = data[(starts + inside)[..., None] + np.arange(dtype.itemsize)]
    return _as_floats(np.ascontiguousarray(raw).view(dtype)[..., 0], field["dtype"])


def _scale_of_elements(spec: Spec, layout: _Layout, tensors: Tensors) -> np.ndarray:
    """What each element is multiplied by, broadcastable to [N, K]."""
    scale = spec.get("scale", {"index": "none"})
    index = scale["index"]
    rows, cols = layout.rows, layout.cols
    if index == "none":
        return np.ones((1, 1))
    for key in ("stored_multiple", "global", "nested_group"):
        if key in scale:
            raise _refuse("scale " + key, scale[key])
    if scale.get("place", "tensor") == "tensor":
        stored = _as_floats(np.asarray(tensors["scale"]), scale.get("dtype", ""))
    else:
        stored = _inline_scales(spec, layout, tensors["codes"])
    if index == "tensor":
        values = stored.reshape(1, 1)
    elif index == "row":
        values = stored.reshape(rows, 1)
    elif index == "column":
        values = stored.reshape(1, cols)
    elif index == "row x group":
        group = scale["group"] if scale["group"] > 0 else cols
        shape = (rows, -(-cols // group))
        transposed = scale.get("layout") == "[K/g, N]"
        expected = shape[::-1] if transposed else shape
        if stored.shape not in (expected, (stored.size,)):
            raise ValueError(f"the scale has shape {stored.shape}; the spec asks for {expected}")
        stored = stored.reshape(expected)
        values = np.repeat(stored.T if transposed else stored, group, axis=1)[:, :cols]
    elif index == "block":  # one a unit
        per_element = np.repeat(stored.reshape(layout.lines, -1), layout.line.unit_elements, axis=1)
        values = layout.to_matrix(per_element[:, :layout.line.extent])
    elif index == "segment":
        parts = scale["segments"]
        along_rows = scale.get("segment_axis", "N") == "N"
        spread = np.repeat(stored.reshape(-1), (rows if along_rows else cols) // parts)
        values = spread[:, None] if along_rows else spread[None]
    else:
        raise _refuse("scale index", index)
    factor = scale.get("factor", 1)
    if scale["op"] == "mul":
        return values * factor
    if scale["op"] == "div":
        return 1 / (values * factor)
    raise _refuse("scale op", scale["op"])


def decode(spec: Spec, tensors: Tensors, rows: int, cols: int) -> np.ndarray:
    """W, float64 [rows, cols].

    `tensors`: by role: "codes" ("codes_1", … for further planes), "scale". A BF16 tensor may come
    as its bit patterns in uint16. Raises UnsupportedSpec for what this cannot do, ValueError for
    data that contradicts the spec.
    """
    if spec["symbol"] == "float container":
        stored = _as_floats(np.asarray(tensors["codes"]), spec["container"])
        return stored.reshape(rows, cols) if spec["orient"] == "NK" else stored.reshape(cols, rows).T
    if spec["symbol"] not in ("int", "base3", "bit-planes"):
        raise _refuse("symbol", spec["symbol"])
    for key in ("g_idx", "regroup", "row_map", "pre", "post"):
        if spec.get(key) not in (None, "none"):
            raise _refuse(key, spec[key])
    zero = spec.get("zero", "none")
    if zero != "none" and not (isinstance(zero, Mapping) and zero["kind"] == "const"):
        raise _refuse("zero", zero)
    layout = _Layout(spec, rows, cols)
    if spec["symbol"] == "bit-planes":
        codes = np.zeros((rows, cols), np.int64)
        for bit in range(len(spec["law"]["planes"])):
            role = "codes" if bit == 0 else f"codes_{bit}"
            codes |= _codes(spec, layout, tensors[role], 1) << bit
    else:
        codes = _codes(spec, layout, tensors["codes"], spec["bits"] if spec["bits"] != "trit" else 0)
    table = np.full(max(256, int(codes.max()) + 1), np.nan)
    levels = _levels(spec)
    table[:levels.size] = levels
    values = table[codes]
    if np.isnan(values).any():
        place = tuple(int(i) for i in np.argwhere(np.isnan(values))[0])
        raise ValueError(f"{int(np.isnan(values).sum())} codes have no level, the first at {place}")
    if zero != "none":
        values = values - zero["value"]
    return values * _scale_of_elements(spec, layout, tensors)
