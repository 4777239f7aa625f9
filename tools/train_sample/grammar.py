"""Complete stories from the plots: draws the slots, the sentences and the form of the beginning."""

import random
from typing import TypeAlias

import plots_first
import plots_second
from cast import Cast, article
from openings import first_sentence

Plot: TypeAlias = list["list[str] | tuple[Plot, ...]"]

PLOTS: list[Plot] = plots_first.PLOTS + plots_second.PLOTS
DAYS = ["One day,", "One day,", "One day,", "One sunny day,", "One morning,", "One afternoon,"]
FREE_SHARE = 0.1  # stories that do not begin with "Once upon a time"
CUT_SHARE = 0.1  # stories told without their first sentence
MANY = {"apple": "apples", "cake": "cakes", "cookie": "cookies", "carrot": "carrots"}
ENDS = [
    "{n} was very happy.",
    "From that day on, {n} was never sad again.",
    "That night, {n} slept well and had a good dream.",
    "{n} smiled and went home.",
    "It was the best day ever.",
    "{n} learned that it is good to be kind.",
]
PAL_ENDS = [
    "{n} and {other} became good friends.",
    "From that day on, {n} and {other} played together every day.",
    "{n} and {other} laughed and went home together.",
]


def slots(c: Cast, r: random.Random) -> dict[str, str]:
    """All slots a sentence may name: those of the cast and those drawn here."""
    s = {k: str(v) for k, v in vars(c).items()}
    s |= {"a_thing": article(f"{c.col} {c.obj}"), "a_col": article(c.col)}
    s |= {"a_food": article(c.food), "a_animal": article(c.animal), "day": r.choice(DAYS)}
    s["baked"] = c.food if c.food in ("cake", "pie") else r.choice(["cake", "pie"])
    s |= {"a_baked": article(s["baked"]), "food_many": MANY.get(c.food, "flowers")}
    s["spot"] = r.choice(["table", "chair", "window", "shelf"])
    s["plant"] = r.choice(["flower", "tree", "tomato", "pumpkin", "carrot"])
    s["fragile"] = r.choice(["cup", "plate", "vase", "window", "lamp"])
    for key, other in (("end", None), ("end_pal", c.an2), ("end_pal2", c.pal), ("end_animal", f"the {c.animal}")):
        end = r.choice(ENDS + PAL_ENDS if other else ENDS).format(n=c.n, other=other)
        s[key] = end + (" The end." if r.random() < 0.25 else "")
    return s


def tell(plot: Plot, s: dict[str, str], r: random.Random) -> list[str]:
    """The sentences of one telling of a plot."""
    told: list[str] = []
    for step in plot:
        if isinstance(step, tuple):
            told += tell(r.choice(step), s, r)
        elif sentence := r.choice(step).format_map(s):
            told.append(sentence)
    return told


def full_story(r: random.Random) -> str:
    """One complete story; all plots are equally likely."""
    c = Cast(r)
    s = slots(c, r)
    kind = r.random()
    first = first_sentence(c, r, free=kind < CUT_SHARE + FREE_SHARE)
    setup = plots_first.HABIT if "lived" in first else plots_first.HABIT + plots_first.HOME
    told = tell([setup, *r.choice(PLOTS)], s, r)
    if kind >= CUT_SHARE:
        return " ".join([first, *told])
    if r.random() < 0.5 and c.n in told[0]:  # begin with the habit or the home of the hero
        return " ".join(told)
    hero = f"{article(c.adj)} {c.who} named {c.n}"  # begin with the event, and say there who the hero is
    event = told[1].replace(c.n, hero, 1)
    return " ".join([event[0].upper() + event[1:], *told[2:]])
