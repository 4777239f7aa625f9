"""The specs of tests/zoo in the strict words of docs/FORMATS.md.

The truth files describe a layout in prose where a library's own terms say it best ("int packed along
N, low first", "F16 at row start"). Each phrase has one meaning, given here; nothing depends on the
name of a case. What a phrase leaves to the tensors (a dtype) is read from them.
"""

import re

# Roles that hold no numbers of the weights: activation scales, sizes, states as text.
OTHER_ROLES = re.compile(r"input_|output_|weight_shape$|shape$|nbits$|axis$|group_size$|quant_state|weight_format$")
SIDE_ROLES = {"scale": r"scales?$|weight_scale$|SCB$|absmax$|alpha$|step$|^s$|_scale$",
              "global_scale": r"global_scale$|per_tensor_scale$",
              "zero": r"qzeros$|zeros?$|zero_point$|biases$|minimum$|_shift$|bias$",
              "group_index": r"g_idx$", "table": r"quant_map$|lut$"}
GGUF_FIELDS = {  # parts of a block in stored order; codes are as many bytes as the law needs
    "f16 d, qs[16]": [("scale", "F16"), ("codes", None)],
    "e8m0 d, qs[16]": [("scale", "F8_E8M0"), ("codes", None)],
    "f16 d, int8[32]": [("scale", "F16"), ("codes", None)],
    "f16 d, u32 high bits, qs[16]": [("scale", "F16"), ("high bits", None), ("codes", None)],
    "qs[64] f16 d": [("codes", None), ("scale", "F16")],
    "qs[48] qh[4] f16 d": [("codes", None), ("scale", "F16")],
}


def fields(parts):
    return [{"kind": kind} if dtype is None else {"kind": kind, "dtype": dtype, "count": 1}
            for kind, dtype in parts]


def tensors_by_role(module, variant, spec):
    """{role of the codec: tensor name}."""
    tensors = module["tensors"][variant]
    roles = {"codes": tensors[module["codes_tensor"]]}
    planes = [r for r in tensors if r != module["codes_tensor"] and not OTHER_ROLES.search(r)]
    for role, pattern in SIDE_ROLES.items():
        for name in [r for r in planes if re.search(pattern, r) and
                     (role != "scale" or not re.search(SIDE_ROLES["global_scale"], r))]:
            roles[role] = tensors[name]
            planes.remove(name)
    for index, name in enumerate(planes, 1):
        roles[f"codes_{index}"] = tensors[name]
    if spec["zero"] == "none":
        roles.pop("zero", None)  # stored although all are 0
    return roles


def code_table(spec):
    table, bits = spec["code_table"], spec["bits"]
    if "offset" in str(spec["zero"]):  # of the codes and of the zero points alike
        return "unsigned"
    if not isinstance(table, str):
        return table
    if table == "q + 2^(b-1)":
        return f"q-{2 ** (bits - 1)}"
    if table.startswith("quant_map tensor in the file"):
        return "tensor in the file [16]"
    return re.sub(r", range of int\d$", "", table)


def law(spec, shape, dtypes):
    given, container = spec["law"], spec["container"]
    if given == "plain":
        return {"word_bits": spec["bits"]}
    strict = {k: v for k, v in given.items()
              if k in ("word_bits", "slots", "stride", "axis", "slot_order", "byte_order", "planes",
                       "digits", "pad_digit", "sections", "unit")}
    if isinstance(strict.get("slot_order"), list):  # there the element of field i
        order = strict["slot_order"]
        strict["slot_order"] = [order.index(slot) for slot in range(len(order))]
    stream = given.get("bitstream", "")
    if stream:
        strict["bitstream"] = "lsb_first" if stream.startswith("LSB") else "msb_first"
    stride = strict.get("stride")
    if isinstance(stride, str):
        if stride.startswith("ceil(rows_of_grouped_view"):
            group = (spec.get("regroup") or {}).get("group")
            rows_run_along = (spec.get("regroup") or {}).get("axis") == 1 or not group
            strict["granule"] = (group or -1) if rows_run_along else shape[0] * shape[1] // group
        elif stride.startswith("extent/slots of the axis"):
            strict["stride"] = "extent/slots"
        elif stride.startswith("N ("):
            strict["stride"] = "N"
    unit = strict.get("unit", "row")
    if "KN" in unit or (spec["orient"] == "KN" and unit in ("row", "column")):
        strict["unit"] = "row" if strict["axis"] == "K" else "column"
    if unit == "4 rows":  # a byte holds one column of four rows
        strict.update(axis="N", unit="column", stride=1)
    block = re.match(r"block (?:of )?(\d+)", unit)
    if block:
        strict["unit"] = f"block {block[1]}"
    planes = strict.get("planes")
    if planes == [spec["bits"]]:
        del strict["planes"]
        strict["slots"] = strict["word_bits"] // spec["bits"]
    elif planes and spec["symbol"] == "bit-planes" and planes[0] == 1:
        strict["planes"] = ["bit"] * len(planes)
        strict["stacked"] = True
    if "symbol" in given and "base 3" in given["symbol"]:
        strict["digits"] = "msb first, ceil 256/243"
    if unit.startswith("block 64, 13 bytes"):
        strict["sections"] = [[5, 1, 16 * run + 5 * byte, 1] for run in range(4) for byte in range(3)]
        strict["sections"].append([4, 16, 15, 1])
        strict["line_fields"] = fields([("scale", "F16"), ("codes", None)])
    if unit == "tile of 16 rows x 32 columns, 32 words":
        strict = {"unit": "tile", "tile": {"kind": "bitnet-gpu"}}
    if "tile" in given and given["tile"].startswith("bm="):
        sizes = dict(pair.split("=") for pair in given["tile"].split())
        strict = {"unit": "tile", "tile": {"kind": "t-mac", "bm": int(sizes["bm"]),
                                           "bk": int(sizes["kfactor"])}}
    inline(spec, strict)
    if container.startswith("GGUF") and given.get("fields") in GGUF_FIELDS:
        strict["fields"] = fields(GGUF_FIELDS[given["fields"]])
        if planes:  # the high bits of all elements lie together
            del strict["slots"], strict["stride"]
            strict.update(planes=planes, plane_strides=[given["stride"], 1])
    if given.get("two_level"):
        strict["fields"] = [{"kind": "scale", "dtype": "F16", "count": 1},
                            {"kind": "min", "dtype": "F16", "count": 1},
                            {"kind": "sub-scales", "dtype": "U8", "count": 12}, {"kind": "codes"}]
    return strict


def inline(spec, strict):
    """Fields among the codes, told by the dtype of the scale."""
    where = spec["scale"].get("dtype", "")
    parts = [("codes", None)]
    if where.endswith(" first"):
        strict["fields"] = fields([("scale", where.split()[0]), *parts])
    elif where.endswith(" last"):
        strict["fields"] = fields([*parts, ("scale", where.split()[0])])
    elif where.endswith(" at row start"):
        strict["line_fields"] = fields([("scale", where.split()[0]), *parts])
    elif where.endswith(" in a 32-byte tail"):
        strict["tensor_fields"] = [*fields([*parts, ("scale", "F32")]),
                                   {"kind": "padding", "dtype": "U8", "count": 28}]


def scale(spec, strict_law, shape, dtypes, shapes):
    given = spec["scale"]
    index, where = given["index"], given.get("dtype", "")
    strict = {"index": index, "op": given["op"]}
    if given.get("group"):
        strict["group"] = given["group"]
    if index == "row x group":
        strict["group"] = given.get("group") or -1
        if spec["orient"] == "KN":
            strict["layout"] = "[K/g, N]"
        if "padded" in given.get("layout", ""):
            strict["stored_multiple"] = shapes["scale"][-1]
    if index == "tensor (first of 4)":
        strict.update(index="tensor", stored_multiple=4)
    if index.startswith("segment: 2 row shards"):
        strict.update(index="segment", segments=2)
    if index == "segment":
        strict["segments"] = given["segments"]
    if index == "tensor or row segment":
        strict["index"] = "tensor"
    strict["factor"] = 1 / 127 if given.get("factor") == "1/127" else 1.0
    strict["dtype"] = dtypes.get("scale", "F32")
    if where == "E8M0 exponent" and strict["dtype"] == "U8":
        strict["dtype"] = "F8_E8M0"
    if "global" in where:
        strict["global"] = "div" if "divided" in where else "mul"
    if where.startswith("implicit"):
        strict.update(place="implicit", dtype=spec["container"])
    for key, place in (("fields", "block"), ("line_fields", "line"), ("tensor_fields", "tail")):
        for field in strict_law.get(key, []):
            if field["kind"] == "scale":
                strict.update(place=place, dtype=field["dtype"])
    if spec["law"] != "plain" and spec["law"].get("two_level"):
        strict.update(index="sub-block", group=32, sub_layout="q4_k")
    return strict


def zero(spec, dtypes, shapes, strict_law):
    given, bits = spec["zero"], spec["bits"]
    if spec["law"] != "plain" and spec["law"].get("two_level"):
        return {"zero": "float shift, w = s*q - shift", "zero_dtype": "F16"}
    if given == "see law":
        return {"zero": "none"}
    if given == "const":
        return {"zero": {"kind": "const", "value": 0}}
    if isinstance(given, str):
        words = {"float bias, w = q*s + m": "float bias, w = q*s + b"}.get(given, given)
        return {"zero": words} if words == "none" else {"zero": words, "zero_dtype": dtypes["zero"]}
    strict = {"kind": "int", "stored": given["stored"], "dtype": dtypes["zero"]}
    if "packed" in given["kind"]:
        strict.update(bits=bits, packed_axis="K" if "groups" in given["kind"] else "N")
        strict["slot_order"] = strict_law.get("slot_order", "low_first") \
            if "same order" in given["kind"] else "low_first"
        if 32 % bits:
            strict["bitstream"] = True
    return {"zero": strict}


def strict_spec(spec, module, variant, dtypes, shapes):
    """(spec, roles) of a module; dtypes and shapes by tensor name."""
    spec = {**spec, **module.get("spec_override", {})}
    spec.setdefault("container", "U8")
    roles = tensors_by_role(module, variant, spec)
    of_role = {role: dtypes[name] for role, name in roles.items()}
    shape_of_role = {role: shapes[name] for role, name in roles.items()}
    strict_law = law(spec, module["shape"], of_role)
    strict = {"symbol": spec["symbol"], "bits": spec["bits"], "orient": spec["orient"],
              "container": of_role["codes"], "law": strict_law,
              "scale": scale(spec, strict_law, module["shape"], of_role, shape_of_role)}
    table = code_table(spec)
    if spec["law"] != "plain" and "table" in spec["law"]:  # e2m1 doubled, scale halved
        levels = [0, 1, 2, 3, 4, 6, 8, 12]
        table, strict["scale"]["factor"] = levels + [-level for level in levels], 0.5
    strict["code_table"] = "unsigned" if table == "see law" else table
    if strict["code_table"] == "tensor in the file [16]":
        strict["table_dtype"] = of_role["table"]
    if spec["scale"]["index"] == "none":
        strict["scale"] = {"index": "none"}
    if "group_index" in roles:
        strict["g_idx"] = True
    strict.update(zero(spec, of_role, shape_of_role, strict_law))
    return strict, roles
