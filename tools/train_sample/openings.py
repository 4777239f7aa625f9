"""Openings of two to four sentences for the teacher to continue."""

import random

from cast import Cast, article

DAYS = ["One day,", "One day,", "One sunny day,", "One morning,", "One cold day,", "One rainy day,"]
FREE_SHARE = 0.25  # share of the openings that do not begin with "Once upon a time"


def first_sentence(c: Cast, r: random.Random, free: bool) -> str:
    """The sentence that names the hero; `free` picks one that does not begin with "Once upon a time"."""
    if not free:
        return f"Once upon a time, there was {article(c.adj)} {c.who} named {c.n}."
    return r.choice(
        [
            f"There once was {article(c.adj)} {c.who} named {c.n}.",
            f"{c.n} was {article(c.adj)} {c.who}.",
            f"{c.n} was {article(c.adj)} {c.who} who lived {c.home}.",
            f"There was {article(c.adj)} {c.who} who lived {c.home}. {c.His} name was {c.n}.",
        ]
    )


def second_sentence(c: Cast, r: random.Random) -> str:
    """A habit, a home, a possession or a companion."""
    return r.choice(
        [
            f"{c.He} loved to {c.hobby}.",
            f"{c.n} loved to {c.hobby}.",
            f"{c.He} lived {c.home} with {c.his} {c.friend}.",
            f"{c.n} had {article(c.col)} {c.obj}.",
            f"{c.He} had {article(c.col)} {c.obj} that {c.he} loved very much.",
            f"{c.n} lived {c.home}.",
            f"Every day, {c.n} liked to {c.hobby}.",
            f"{c.He} had a good friend, {article(c.animal)} named {c.an2}.",
        ]
    )


def event(c: Cast, r: random.Random) -> str:
    """The sentence that sets the story going."""
    day, n, his, thing = r.choice(DAYS), c.n, c.his, article(f"{c.col} {c.obj}")
    return r.choice(
        [
            f"{day} {n} went to the {c.p2} with {his} {c.friend}.",
            f"{day} {n} found {thing} {c.at2}.",
            f"{day} {n} could not find {his} {c.obj}.",
            f"{day} {n} saw {article(c.animal)} {c.at2}.",
            f"{day} {n} met {article(c.animal)} named {c.an2}.",
            f"{day} {his} {c.friend} gave {c.him} {article(c.food)}.",
            f"{day} {n} wanted to make {article(c.food)} for {his} {c.friend}.",
            f"{day} {n} got lost {c.at2}.",
            f"{day} {n} and {his} friend {c.pal} went to the {c.p2}.",
            f"{day} {n} wanted to learn to swim.",
            f"{day} {n} saw a big cloud in the sky.",
            f"{day} {n} heard a strange sound {c.at2}.",
            f"{day} {n} saw {article(c.animal)} who was very sad.",
        ]
    )


def free_event(c: Cast, r: random.Random) -> str:
    """An event that can open a story by itself: it says who the hero is."""
    day, hero = r.choice(DAYS), f"{article(c.adj)} {c.who} named {c.n}"
    return r.choice(
        [
            f"{day} {hero} went to the {c.p2}.",
            f"{day} {hero} found {article(f'{c.col} {c.obj}')} {c.at2}.",
            f"{day} {hero} saw {article(c.animal)} {c.at2}.",
            f"{day} {hero} was walking {c.at2}.",
            f"{c.n} was sad because {c.he} could not find {c.his} {c.obj}.",
            f"{c.n} was happy because it was {c.his} birthday.",
            f"{c.n} was sad because it was raining and {c.he} could not play outside.",
            f"{c.n} and {c.pal} were playing {c.at2}.",
            f"{c.n} and {c.his} {c.friend} went to the {c.p2}.",
            f"{c.n} looked out of the window and saw {article(c.animal)}.",
        ]
    )


def reaction(c: Cast, r: random.Random) -> str:
    """How the hero takes the event."""
    return r.choice(
        [
            f"{c.He} was very happy.",
            f"{c.He} was sad.",
            f"{c.He} was a little scared.",
            f'"What is that?" {c.he} asked.',
            f'"Look!" said {c.n}.',
            f'"Can you help me?" asked {c.n}.',
            f"{c.n} did not know what to do.",
            f"{c.He} had an idea.",
            f'"Let\'s play!" said {c.n}.',
        ]
    )


def opening(r: random.Random) -> tuple[str, str]:
    """An opening and the name of its hero."""
    c = Cast(r)
    free = r.random() < FREE_SHARE
    if free and r.random() < 0.5:
        parts = [free_event(c, r), reaction(c, r)]
        return " ".join(parts[: r.choice([1, 2])]), c.n
    parts = [first_sentence(c, r, free), second_sentence(c, r), event(c, r), reaction(c, r)]
    return " ".join(parts[: r.choice([2, 3, 3, 3, 4, 4])]), c.n
