"""Story plots, first part: what is lost, shared, made friends with, feared, planted, helped, given and owned up to.

A plot is a list of steps. A step is either a list of sentences, of which one is taken, or a tuple of plots, of which
one is told. Slots in braces are attributes of cast.Cast and the extra slots of grammar.slots.
"""

HABIT = ["{He} loved to {hobby}.", "{n} loved to {hobby}.", "Every day, {n} liked to {hobby}."]
HOME = ["{He} lived {home} with {his} {friend}.", "{n} lived {home}."]

LOST = [
    ["{He} had {a_thing} that {he} loved very much.", "{His} favorite thing was {a_thing}."],
    ["{day} {n} could not find the {obj}.", "{day} the {obj} was gone.", "{day} {n} lost the {obj} {at2}."],
    ["{He} was very sad.", "{n} started to cry.", '"Oh no! Where is my {obj}?" {he} said.'],
    [
        "{He} looked under the bed, but it was not there.",
        "{He} looked behind the door, but it was not there.",
        "{He} looked in the box, but it was empty. {He} looked under the bed, but it was not there.",
        "{He} looked {at2}, but {he} did not see it.",
    ],
    (
        [
            ["Then {n} met {a_animal} named {an2}."],
            ['"Can you help me find my {obj}?" asked {n}.'],
            ['"Yes, I can help you," said {an2}.', '"Of course," said {an2}.'],
            [
                "They looked and looked, and then they found the {obj} {at2}.",
                "{an2} looked up and saw the {obj} in a tree.",
            ],
            ['"Thank you, {an2}!" said {n}.', "{n} gave {an2} a big hug."],
            ["{end_pal}"],
        ],
        [
            ["Then {n} asked {his} {friend} for help."],
            ["{His} {friend} smiled and pointed to the {spot}."],
            ["The {obj} was there all the time!", "There was the {obj}!"],
            ['"Thank you!" said {n}.'],
            ["{end}"],
        ],
    ),
]

SHARE = [
    ["{day} {n} had {a_food}."],
    ["{He} sat down {at2} to eat it.", "{He} took it to the {p2}."],
    ["Then {a_animal} named {an2} came by."],
    ['"I am so hungry," said {an2}.', "{an2} looked hungry and sad.", '"I have no food," said {an2}.'],
    ["{n} thought about it.", "{n} felt sorry for {an2}.", "{n} wanted to help."],
    [
        '"We can share my {food}," said {n}.',
        "{He} gave half of the {food} to {an2}.",
        '"Here, you can have some of my {food}," said {n}.',
    ],
    [
        "{an2} was very happy.",
        '"Thank you, {n}! You are very kind," said {an2}.',
        "They ate the {food} together, and it was very good.",
    ],
    ["{end_pal}"],
]

FRIEND = [
    [
        "But {n} had no friends, and {he} was lonely.",
        "But {n} was sad because {he} had no one to play with.",
    ],
    ["{day} {n} went to the {p2} and saw {a_animal}.", "{day} {n} met {a_animal} {at2}."],
    [
        '"Hello, my name is {n}," {he} said. "What is your name?"',
        '"Hi! I am {n}. Who are you?" asked {n}.',
    ],
    ['"My name is {an2}," said the {animal}.', '"I am {an2}," said the {animal}.'],
    ['"Do you want to play with me?" asked {n}.', '"Can we play together?" asked {n}.'],
    ['"Yes!" said {an2}.', '"Yes, I would love to play," said {an2}.'],
    [
        "They played with the {obj} all day.",
        "They ran and jumped {at2}.",
        "They played until the sun went down.",
        "They played {at2} all day long.",
    ],
    ["{end_pal}"],
]

_TRY = [
    ['{day} {his} {friend} said, "Do not be afraid. I am here with you."', "{day} {n} told {his} {friend} about it."],
    [
        "{n} took a deep breath.",
        "{n} closed {his} eyes and counted to three.",
        "{His} {friend} held {his} hand.",
    ],
    ['"I can do it," {he} said.', '"I will try," said {n}.', '"I am brave," said {n}.'],
]
BRAVE = [
    (
        [
            ["But {n} was afraid of the dark."],
            *_TRY,
            ["{He} turned off the light and looked out of the window."],
            ["The stars were very bright and pretty."],
        ],
        [
            ["But {n} was afraid of the water."],
            *_TRY,
            ["{He} put one foot in the water, and then the other foot."],
            ["The water was warm and nice."],
        ],
        [
            ["But {n} was afraid of the thunder."],
            *_TRY,
            ["{He} listened to the loud sound and did not hide."],
            ["Soon the rain stopped, and there was a rainbow in the sky."],
        ],
        [
            ["But {n} was afraid of the big tree."],
            *_TRY,
            ["{He} climbed up slowly, one step at a time."],
            ["From the top, {he} could see the whole village."],
        ],
        [
            ["But {n} was afraid of the old house."],
            *_TRY,
            ["{He} opened the door and looked inside."],
            ["There was only a small mouse, and it was more scared than anyone."],
        ],
    ),
    ['"I did it!" said {n}.', "{n} was not afraid anymore.", "{His} {friend} was very proud of {him}."],
    ["{end}"],
]

PLANT = [
    ["{day} {his} {friend} gave {him} a small seed.", "{day} {n} found a small seed {at2}."],
    ["{n} put the seed in the ground.", "{n} planted the seed in the garden."],
    ["Every day, {he} gave it some water.", "{He} gave it water and waited."],
    ["At first, nothing happened.", "{n} waited and waited, but nothing happened."],
    ['"Be patient," said {his} {friend}.', '"It needs time to grow," said {his} {friend}.'],
    [
        "Then one morning, {n} saw a little green leaf.",
        "After many days, a small green leaf came out of the ground.",
    ],
    ["It grew and grew, and soon it was a big {plant}.", "Soon there was a beautiful {plant} in the garden."],
    ["{end}"],
]

_CALM = ['"Do not worry, I will help you," said {n}.', '"Please help me," said the {animal}.', "{n} wanted to help."]
HELP = [
    [
        "{day} {n} was walking {at2} and saw {a_animal}.",
        "{day} {n} heard a small sound {at2}. It was {a_animal}.",
    ],
    (
        [["The {animal} was stuck in a hole."], _CALM, ["{n} got a long rope and pulled the {animal} out."]],
        [["The {animal} had hurt its foot."], _CALM, ["{n} put a soft cloth around its foot."]],
        [["The {animal} was cold and wet."], _CALM, ["{n} gave the {animal} a warm blanket."]],
        [
            ["The {animal} could not find its mom."],
            _CALM,
            ["{n} and the {animal} walked and walked until they found its mom."],
        ],
        [["The {animal} was very hungry."], _CALM, ["{n} ran home and got {a_food} for the {animal}."]],
    ),
    ['"Thank you so much," said the {animal}.', "The {animal} was happy and safe."],
    ["{end_animal}"],
]

RAIN = [
    ["{day} {n} wanted to play outside with {his} {obj}."],
    (
        [
            ["But it started to rain."],
            ['"Oh no, I can not play outside," said {n}.', "{n} looked out of the window and was sad."],
            ['"We can play inside," said {his} {friend}.'],
            [
                "They made a little house with chairs and blankets.",
                "They made {a_food} together.",
                "They read a book about a big ship.",
            ],
            ["It was warm and cozy inside.", "They had so much fun."],
            ["When the rain stopped, {n} jumped in the puddles."],
        ],
        [
            ["But it started to snow."],
            ['"Oh no, I can not play outside," said {n}.', "{n} looked out of the window and was sad."],
            ['"Put on your warm coat," said {his} {friend}.'],
            ["They went outside and made a big snowman."],
            ["They gave the snowman a carrot for a nose.", "They gave the snowman {a_col} hat."],
            ["Then they went inside and drank hot milk."],
        ],
    ),
    ["{end}"],
]

GIFT = [
    ["{day} it was the birthday of {his} {friend}."],
    ["{n} wanted to give a gift, but {he} had no money."],
    ["{He} had an idea.", "{He} thought and thought."],
    [
        "{He} made {a_col} card and drew a big heart on it.",
        "{He} picked some {col} flowers {at2}.",
        "{He} baked {a_baked} all by {himself}.",
    ],
    ['"Happy birthday!" said {n}.', '"This is for you," said {n}.'],
    [
        '"This is the best gift ever," said {his} {friend}.',
        "{His} {friend} smiled and gave {him} a big hug.",
    ],
    ["{end}"],
]

TRUTH = [
    ["{day} {n} was playing with {his} {obj} in the house."],
    ["By accident, {he} broke the {fragile}."],
    ["{n} was scared and wanted to hide.", "{n} did not know what to do."],
    ['{His} {friend} came in and asked, "Who broke the {fragile}?"'],
    ['"I did it. I am sorry," said {n}.', '{n} looked down and said, "It was me. I am sorry."'],
    [
        '"Thank you for telling the truth," said {his} {friend}.',
        "{His} {friend} was not angry and gave {him} a hug.",
    ],
    ["They cleaned the floor together.", "Then they fixed the {fragile} together."],
    ["{n} learned that it is good to tell the truth."],
    ["", "The end."],
]

RACE = [
    ["{day} {n} and {a_animal} named {an2} had a race {at2}."],
    ['"I will win!" said {an2}.', "{an2} was very fast."],
    ["They ran and ran."],
    ["Then {an2} fell down and started to cry."],
    ["{n} stopped and went back to help.", "{n} did not want to win like that, so {he} stopped."],
    ['"Are you okay?" asked {n}.', '"Let me help you up," said {n}.'],
    ['"Thank you. You are a good friend," said {an2}.', "{an2} smiled and stood up."],
    ["They walked to the end together, and they both won."],
    ["{end_pal}"],
]

PLOTS = [LOST, SHARE, FRIEND, BRAVE, PLANT, HELP, RAIN, GIFT, TRUTH, RACE]
