"""Where the points of a trace are in a PyTorch model: maps as data, and finding one that fits.

A map gives every point a place, written as text:

    "{d}layers.{i}.self_attn.q_proj"            the module's output
    "{d}layers.{i}.self_attn.o_proj:in"         its input
    "{d}layers.{i}.self_attn.qkv_proj@q"        a part of a fused output (PARTS), or columns "@0:64"
    "{d}layers.{i}.self_attn:rope.q"            a result of the apply_rotary_pos_emb it calls

or a list of places, of which the first that exists is taken. {i} is the number of the layer, {d}
whatever stands before the list of layers. A map fits a model only when every module with weights
inside its layers has a point in the map: a model that merely resembles a family is not mistaken for
it, and its points are then named by module path.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

PARTS = ("q", "k", "v", "gate", "up")
_PLACE = re.compile(r"(?P<module>[^:@]*)(?::(?P<side>in|rope\.q|rope\.k))?(?:@(?P<part>\w+|\d+:\d+))?")

Places = str | list[str]


@dataclasses.dataclass(frozen=True)
class Site:
    """One value to record: `point` of the trace, seen at `module`."""

    point: str
    module: str
    side: str  # "out", "in", "rope.q" or "rope.k"
    part: str | None = None

    def __str__(self) -> str:
        side = "" if self.side == "out" else ":" + self.side
        return self.module + side + ("" if self.part is None else "@" + self.part)


@dataclasses.dataclass(frozen=True)
class Family:
    name: str
    layers: str  # the list of layers, with {d}
    points: Mapping[str, Places]
    config: Mapping[str, object] = dataclasses.field(default_factory=dict)  # members it must have


_L = "{d}layers.{i}."
_LLAMA = Family("llama", "{d}layers", {
    "embed": "{d}embed_tokens",
    "layers.{i}.input_norm": _L + "input_layernorm",
    "layers.{i}.q_proj": [_L + "self_attn.q_proj", _L + "self_attn.qkv_proj@q"],
    "layers.{i}.k_proj": [_L + "self_attn.k_proj", _L + "self_attn.qkv_proj@k"],
    "layers.{i}.v_proj": [_L + "self_attn.v_proj", _L + "self_attn.qkv_proj@v"],
    "layers.{i}.q_norm": _L + "self_attn.q_norm",
    "layers.{i}.k_norm": _L + "self_attn.k_norm",
    "layers.{i}.q_rope": _L + "self_attn:rope.q",
    "layers.{i}.k_rope": _L + "self_attn:rope.k",
    "layers.{i}.attn": [_L + "self_attn.attn_sub_norm:in", _L + "self_attn.o_proj:in"],
    "layers.{i}.attn_sub_norm": _L + "self_attn.attn_sub_norm",
    "layers.{i}.o_proj": _L + "self_attn.o_proj",
    "layers.{i}.attn_residual": _L + "post_attention_layernorm:in",
    "layers.{i}.post_norm": _L + "post_attention_layernorm",
    "layers.{i}.gate_proj": [_L + "mlp.gate_proj", _L + "mlp.gate_up_proj@gate"],
    "layers.{i}.up_proj": [_L + "mlp.up_proj", _L + "mlp.gate_up_proj@up"],
    "layers.{i}.act": [_L + "mlp.ffn_sub_norm:in", _L + "mlp.down_proj:in"],
    "layers.{i}.ffn_sub_norm": _L + "mlp.ffn_sub_norm",
    "layers.{i}.down_proj": _L + "mlp.down_proj",
    "layers.{i}.out": "{d}layers.{i}",
    "final_norm": "{d}norm",
})

# The sums of token and position embeddings have no module of their own: they are what the first
# layer reads.
_OPT = {
    "embed": "{d}layers.0:in",
    "layers.{i}.attn_norm": _L + "self_attn_layer_norm",
    "layers.{i}.q_proj": _L + "self_attn.q_proj",
    "layers.{i}.k_proj": _L + "self_attn.k_proj",
    "layers.{i}.v_proj": _L + "self_attn.v_proj",
    "layers.{i}.attn": _L + "self_attn.out_proj:in",
    "layers.{i}.o_proj": _L + "self_attn.out_proj",
    "layers.{i}.fc1": _L + "fc1",
    "layers.{i}.act": _L + "fc2:in",
    "layers.{i}.fc2": _L + "fc2",
    "layers.{i}.ffn_norm": _L + "final_layer_norm",
    "layers.{i}.out": "{d}layers.{i}",
    "final_norm": "{d}final_layer_norm",
}
_OPT_PRE = Family("opt", "{d}layers", _OPT | {"layers.{i}.attn_residual": _L + "final_layer_norm:in"},
                  {"do_layer_norm_before": True})
_OPT_POST = Family("opt-post", "{d}layers",
                   _OPT | {"layers.{i}.attn_residual": _L + "self_attn_layer_norm:in"},
                   {"do_layer_norm_before": False})

_H = "{d}h.{i}."
_GPT2 = Family("gpt2", "{d}h", {
    "embed": "{d}h.0:in",
    "layers.{i}.attn_norm": _H + "ln_1",
    "layers.{i}.q_proj": _H + "attn.c_attn@q",
    "layers.{i}.k_proj": _H + "attn.c_attn@k",
    "layers.{i}.v_proj": _H + "attn.c_attn@v",
    "layers.{i}.attn": _H + "attn.c_proj:in",
    "layers.{i}.o_proj": _H + "attn.c_proj",
    "layers.{i}.attn_residual": _H + "ln_2:in",
    "layers.{i}.ffn_norm": _H + "ln_2",
    "layers.{i}.fc1": _H + "mlp.c_fc",
    "layers.{i}.act": _H + "mlp.c_proj:in",
    "layers.{i}.fc2": _H + "mlp.c_proj",
    "layers.{i}.out": "{d}h.{i}",
    "final_norm": "{d}ln_f",
})

FAMILIES = (_LLAMA, _OPT_PRE, _OPT_POST, _GPT2)


def _config(model: torch.nn.Module) -> object:
    config = getattr(model, "config", None)
    text = getattr(config, "get_text_config", None)
    return text() if callable(text) else config


def _site(point: str, place: str) -> Site:
    match = _PLACE.fullmatch(place)
    if not match:
        raise ValueError(f"'{place}' is no place of a value: expected MODULE, MODULE:in, "
                         "MODULE:rope.q or MODULE@PART")
    return Site(point, match["module"], match["side"] or "out", match["part"])


def _sites(points: Mapping[str, Places], modules: Mapping[str, torch.nn.Module], before: str,
           layers: int) -> tuple[list[Site], list[str]]:
    """Sites of a map, and the points whose place the model does not have."""
    found, absent = [], []
    for template, places in points.items():
        for i in range(layers) if "{i}" in template else (0,):
            point = template.replace("{i}", str(i))
            options = [_site(point, place.replace("{d}", before).replace("{i}", str(i)))
                       for place in ([places] if isinstance(places, str) else places)]
            site = next((option for option in options if option.module in modules), None)
            if site:
                found.append(site)
            else:
                absent.append(point)
    return found, absent


def _weights_without_a_point(sites: list[Site], modules: Mapping[str, torch.nn.Module],
                             layers: str) -> list[str]:
    """Modules inside the layers that hold weights and are not named by a site, nor lie in one."""
    named = {site.module for site in sites if not re.fullmatch(re.escape(layers) + r"\.\d+", site.module)}
    return [name for name, module in modules.items()
            if name.startswith(layers + ".") and next(module.parameters(recurse=False), None) is not None
            and not any(name == site or name.startswith(site + ".") for site in named)]


def _layer_count(modules: Mapping[str, torch.nn.Module], layers: str) -> int:
    count = 0
    while f"{layers}.{count}" in modules:
        count += 1
    return count


def find_family(model: torch.nn.Module) -> tuple[str, list[Site]] | None:
    """Name and sites of the map that fits, or nothing."""
    modules = dict(model.named_modules())
    config = _config(model)
    for family in FAMILIES:
        if any(getattr(config, key, None) != value for key, value in family.config.items()):
            continue
        ending = family.layers.removeprefix("{d}")
        for name in modules:
            before = name.removesuffix(ending)
            if name == before or (before and not before.endswith(".")):
                continue
            sites, _ = _sites(family.points, modules, before, _layer_count(modules, name))
            points = {site.point for site in sites}
            needed = {f"layers.0.{point}" for point in ("q_proj", "v_proj", "o_proj", "out")}
            if needed <= points and not _weights_without_a_point(sites, modules, name):
                return family.name, sites
    return None


def sites_of_map(model: torch.nn.Module, points: Mapping[str, Places]) -> list[Site]:
    """Sites of a map a user wrote; every point must have its place."""
    modules = dict(model.named_modules())
    counts = [0]
    for places in points.values():
        for place in [places] if isinstance(places, str) else places:
            if "{i}" in place:
                counts.append(_layer_count(modules, place.split(".{i}")[0]))
    sites, absent = _sites(points, modules, "", max(counts))
    without = [point for point in points if "{i}" in point and not max(counts)]
    if absent or without:
        raise ValueError(f"the model has no module for the point {(absent + without)[0]}; it has "
                         f"{', '.join(list(modules)[1:6])}, …")
    return sites


def sites_by_path(model: torch.nn.Module) -> list[Site]:
    """Every module's output, named by its path."""
    return [Site(name, name, "out") for name, _ in model.named_modules() if name]


def columns_of(part: str, width: int, model: torch.nn.Module) -> slice:
    """The columns of a fused output `width` wide that are `part`."""
    if ":" in part:
        begin, end = map(int, part.split(":"))
        if not begin < end <= width:
            raise ValueError(f"columns {part} of an output {width} wide")
        return slice(begin, end)
    if part in ("gate", "up"):
        half = width // 2
        return slice(0, half) if part == "gate" else slice(half, width)
    if part not in PARTS:
        raise ValueError(f"'{part}' is no part of a fused output: expected one of {', '.join(PARTS)}")
    config = _config(model)
    heads = config.num_attention_heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    if width % (heads + 2 * kv_heads):
        raise ValueError(f"an output {width} wide is no q, k, v of {heads} and {kv_heads} heads")
    size = width // (heads + 2 * kv_heads)
    bounds = {"q": (0, heads), "k": (heads, heads + kv_heads),
              "v": (heads + kv_heads, heads + 2 * kv_heads)}[part]
    return slice(bounds[0] * size, bounds[1] * size)
