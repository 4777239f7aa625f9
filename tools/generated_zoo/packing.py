"""A random packing and its encoder, in numpy alone: the oracle of the generated checkpoints.

Nothing here shares code with the program. The strided law of docs/FORMATS.md is written out anew:
lines along an axis, B = stride * slots; element e lies in word (e div B) * stride + (e mod B) mod
stride, slot (e mod B) div stride. Shapes: levels, codes and dense matrices are [N, K].
"""

import dataclasses

import numpy as np

# level -> code of two bits
TERNARY_TABLES = {
    "m0p": {-1: 0, 0: 1, 1: 2},
    "0pm": {0: 0, 1: 1, -1: 2},
    "twos": {0: 0, 1: 1, -1: 3},
    "offset2": {-1: 1, 0: 2, 1: 3},
    "p0m": {1: 0, 0: 1, -1: 2},
}
INTERLEAVED = [0, 4, 1, 5, 2, 6, 3, 7]  # field of slot i


@dataclasses.dataclass(frozen=True)
class Packing:
    kind: str  # words, stream, base3, planes, blocks
    bits: int  # stored bits a weight; 0: trits
    ternary: bool
    word: str  # numpy dtype of the stored tensor
    axis: str = "K"
    orient: str = "NK"
    stride: int = 1  # 0: the line in `slots` equal parts
    order: str = "low"  # low, high, interleaved; of digits: low or high
    table: str = "offset"  # a ternary table, offset, twos, sign_magnitude, unsigned
    scale: str = "row"  # tensor, row, column, group, block
    group: int = 0
    group_layout: str = "NG"  # [N, G] or [G, N]
    scale_shape: str = "flat"  # flat [N], column [N, 1]
    divide: bool = False
    scale_dtype: str = "float16"
    zero: str = "none"  # none, bytes, float (q·s + b)
    block: int = 0  # elements, for kind blocks
    scale_first: bool = True

    @property
    def slots(self) -> int:
        width = np.dtype(self.word).itemsize * 8
        if self.kind == "base3":
            return 5 * (width // 8)
        return width // self.bits


def encode_levels(packing: Packing, levels: np.ndarray) -> np.ndarray:
    """Levels [N, K] (asymmetric: codes already) -> codes [N, K], uint8."""
    if packing.ternary:
        if packing.kind == "base3":
            return (levels + 1).astype(np.uint8)
        table = TERNARY_TABLES[packing.table]
        codes = np.zeros(levels.shape, np.uint8)
        for level, code in table.items():
            codes[levels == level] = code
        return codes
    mask = (1 << packing.bits) - 1
    half = 1 << (packing.bits - 1)
    if packing.table == "sign":
        return (levels > 0).astype(np.uint8)
    if packing.table == "unsigned":
        return levels.astype(np.uint8)
    if packing.table == "twos":
        return (levels & mask).astype(np.uint8)
    if packing.table == "sign_magnitude":
        return np.where(levels < 0, half | -levels, levels).astype(np.uint8)
    return (levels + half).astype(np.uint8)


def units_of(lines: np.ndarray, slots: int, stride: int) -> np.ndarray:
    """Codes of lines [L, E] -> [L, words, slots]; what is missing at the end is code 0."""
    count, extent = lines.shape
    stride = stride or -(-extent // slots)
    block = stride * slots
    padded = np.zeros((count, -(-extent // block) * block), lines.dtype)
    padded[:, :extent] = lines
    return padded.reshape(count, -1, slots, stride).swapaxes(2, 3).reshape(count, -1, slots)


def pack_words(packing: Packing, lines: np.ndarray) -> np.ndarray:
    slots = packing.slots
    units = units_of(lines, slots, packing.stride).astype(np.uint64)
    fields = {"low": range(slots), "high": range(slots)[::-1], "interleaved": INTERLEAVED}
    words = np.zeros(units.shape[:2], np.uint64)
    for slot, field in enumerate(fields[packing.order]):
        words |= units[:, :, slot] << np.uint64(packing.bits * field)
    return words.astype(f"uint{np.dtype(packing.word).itemsize * 8}").view(packing.word)


def pack_base3(packing: Packing, lines: np.ndarray) -> np.ndarray:
    units = units_of(lines, packing.slots, packing.stride).astype(np.int64)
    digits = units if packing.order == "low" else units[:, :, ::-1]
    powers = 3 ** np.arange(packing.slots, dtype=np.int64)
    return (digits * powers).sum(axis=2).astype(packing.word)


def pack_stream(packing: Packing, lines: np.ndarray) -> np.ndarray:
    """Codes one behind the other, across the borders of words."""
    width = np.dtype(packing.word).itemsize * 8
    bits = (lines[:, :, None] >> np.arange(packing.bits)) & 1  # lowest first
    if packing.order == "high":
        bits = bits[:, :, ::-1]
    bits = bits.reshape(len(lines), -1)
    padded = np.zeros((len(lines), -(-bits.shape[1] // width) * width), np.uint64)
    padded[:, :bits.shape[1]] = bits
    places = np.arange(width, dtype=np.uint64)
    if packing.order == "high":
        places = places[::-1]
    words = (padded.reshape(len(lines), -1, width) << places).sum(axis=2, dtype=np.uint64)
    return words.astype(f"uint{width}").view(packing.word)


def pack_planes(packing: Packing, levels: np.ndarray) -> list[np.ndarray]:
    one = dataclasses.replace(packing, bits=1)
    return [pack_words(one, (levels == sign).astype(np.uint8)) for sign in (1, -1)]


def pack_blocks(packing: Packing, codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Rows of blocks: the codes of `block` elements and their scale side by side."""
    rows = len(codes)
    blocks = codes.reshape(-1, packing.block)
    words = pack_words(packing, blocks)
    parts = [scales.reshape(-1, 1).view(np.uint8), words.view(np.uint8)]
    if not packing.scale_first:
        parts.reverse()
    return np.concatenate(parts, axis=1).reshape(rows, -1)


def stored_codes(packing: Packing, codes: np.ndarray, levels: np.ndarray,
                 scales: np.ndarray) -> list[np.ndarray]:
    """The stored code tensors of one matrix; `scales` go into blocks alone."""
    if packing.kind == "blocks":
        return [pack_blocks(packing, codes, scales)]
    if packing.kind == "planes":
        words = pack_planes(packing, levels)
    else:
        lines = codes if packing.axis == "K" else np.ascontiguousarray(codes.T)
        pack = {"words": pack_words, "stream": pack_stream, "base3": pack_base3}[packing.kind]
        words = [pack(packing, lines)]
    # Lines along K are the rows of [N, words]; along N those of [K, words].
    turned = (packing.axis == "K") != (packing.orient == "NK")
    return [np.ascontiguousarray(w.T) if turned else w for w in words]
