"""One draw of the story slots that have to agree with each other: name, pronoun, object, place, companions."""

import random

GIRLS = ["Lily", "Mia", "Anna", "Lucy", "Sue", "Emma", "Sara", "Amy", "Rose", "Kate", "Molly", "Ella", "Jane", "Zoe"]
BOYS = ["Tom", "Ben", "Max", "Sam", "Tim", "Jack", "Leo", "Bob", "Billy", "Joe", "Nick", "Finn", "Dan", "Peter"]
PETS = ["Spot", "Fluffy", "Bella", "Coco", "Buddy", "Daisy", "Oliver", "Ruby", "Toby", "Pip", "Momo", "Teddy"]
ANIMALS = [
    "cat", "dog", "bird", "rabbit", "bear", "fox", "mouse", "frog",
    "duck", "pig", "horse", "squirrel", "turtle", "puppy", "kitten", "owl",
]  # fmt: skip
ADJECTIVES = ["little", "happy", "brave", "kind", "curious", "shy", "funny", "clever", "small", "sleepy"]
OBJECTS = [
    "ball", "hat", "kite", "toy boat", "book", "balloon", "toy car", "doll", "bell", "drum", "scarf",
    "teddy bear", "basket", "shell", "key", "flute", "lantern", "blanket", "cup", "box",
]  # fmt: skip
COLOURS = ["red", "blue", "green", "yellow", "white", "brown", "pink", "orange"]
FAMILY = ["mom", "dad", "sister", "brother", "grandma", "grandpa", "best friend"]
FOODS = ["apple", "cake", "cookie", "carrot", "sandwich", "pie", "pear", "banana"]
# Places with the preposition each takes, and whether somebody can live there.
PLACES = {
    "park": ("in", False), "garden": ("in", False), "forest": ("in", True), "beach": ("at", False),
    "farm": ("on", True), "river": ("by", True), "hill": ("on", True), "pond": ("by", True), "field": ("in", False),
    "village": ("in", True), "lake": ("by", True), "old bridge": ("under", False), "big tree": ("under", False),
    "market": ("at", False), "yard": ("in", False), "barn": ("in", False), "meadow": ("in", False),
}  # fmt: skip
ANIMAL_HOMES = ["forest", "farm", "river", "hill", "pond", "barn", "meadow", "big tree", "garden", "old bridge"]
HOBBIES = [
    "read books", "sing songs", "run and jump", "look at the stars", "draw pictures", "help others",
    "dance in the rain", "climb trees", "pick flowers", "eat apples", "tell jokes", "swim in the lake", "bake cakes",
]  # fmt: skip


def article(words: str) -> str:
    """The words with `a` or `an` in front."""
    return ("an " if words[0] in "aeiou" else "a ") + words


def where(place: str) -> str:
    """The place with its own preposition, as in `on the hill`."""
    return f"{PLACES[place][0]} the {place}"


class Cast:
    """The agreeing slots of one story; every attribute is a string ready to be put into a sentence."""

    def __init__(self, r: random.Random) -> None:
        kind = r.random()
        if kind < 0.35:
            self.who, self.n, female = "girl", r.choice(GIRLS), True
        elif kind < 0.7:
            self.who, self.n, female = "boy", r.choice(BOYS), False
        else:
            self.who, self.n, female = r.choice(ANIMALS), r.choice(PETS), r.random() < 0.5
        self.person = kind < 0.7
        self.he, self.his, self.him = ("she", "her", "her") if female else ("he", "his", "him")
        self.himself = "herself" if female else "himself"
        self.He, self.His = self.he.capitalize(), self.his.capitalize()
        self.adj, self.obj, self.col = r.choice(ADJECTIVES), r.choice(OBJECTS), r.choice(COLOURS)
        homes = [p for p, (_, lived) in PLACES.items() if lived] if self.person else ANIMAL_HOMES
        self.home = where(r.choice(homes))
        self.p, self.p2 = r.sample(sorted(PLACES), 2)
        self.at, self.at2 = where(self.p), where(self.p2)
        self.friend, self.food = r.choice(FAMILY), r.choice(FOODS)
        self.animal = r.choice([a for a in ANIMALS if a != self.who])
        self.an2 = r.choice([x for x in PETS if x != self.n])
        self.hobby = r.choice([*HOBBIES, f"play {self.at}", f"play {self.at}"])
        self.pal = r.choice([x for x in GIRLS + BOYS if x != self.n])
