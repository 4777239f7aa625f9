"""Story plots, second part (see plots_first.py for what a plot is)."""

SWIM = [
    ["{day} {n} wanted to learn to swim.", "{day} {n} and {his} {friend} went to the lake. {n} could not swim."],
    ['"I can not do it," said {n}.', "At first, {he} was afraid of the cold water."],
    ['"I will show you," said {his} {friend}.', '"Just kick your legs," said {his} {friend}.'],
    ["{n} tried and tried.", "{n} tried again and again."],
    ["Then {he} could swim a little bit.", "At last, {n} could swim all by {himself}."],
    ['"Look at me!" said {n}.', "{His} {friend} clapped and smiled."],
    ["{end}"],
]

MONSTER = [
    ["One night, {n} heard a strange sound.", "One night, {n} heard a strange sound under the bed."],
    ['"Is it a monster?" {he} asked.', "{He} hid under the blanket.", '"Who is there?" {he} asked.'],
    ["{n} took a light and looked under the bed.", "{n} got up and opened the door very slowly."],
    ["There was {a_animal}!", "It was only {a_animal} looking for food."],
    ['"You are not a monster," said {n} and laughed.', "{n} laughed because {he} was not scared anymore."],
    ["{He} gave the {animal} some milk.", "The {animal} slept next to {him} all night."],
    ["{end_animal}"],
]

MAP = [
    ["{day} {n} found an old map {at}."],
    ['"Look, a map!" {he} said to {his} friend {pal}.', "{He} showed the map to {his} friend {pal}."],
    ["They walked to the {p2} and looked for the treasure.", "The map showed the way to the {p2}."],
    ["They dug a hole in the ground.", "They looked under a big rock."],
    (
        [["They found a box full of gold."], ["They gave the gold to the poor people in the village."]],
        [["They found a box. In the box was {a_thing}."], ['"What a nice treasure!" said {pal}.']],
        [["They did not find any gold, but they found a lot of shells."], ["They had so much fun."]],
    ),
    ["{end_pal2}"],
]

KITE = [
    ["{day} the wind was strong, and {n} took {his} {col} kite to the {p2}."],
    ["The kite flew high up in the sky.", "Up, up, up went the kite."],
    ["Then the kite got stuck in a tall tree.", "But then the wind took the kite, and it fell into a tree."],
    ['"Oh no, my kite!" cried {n}.', "{n} was very sad."],
    (
        [
            ["A bird named {an2} saw it.", "A squirrel named {an2} saw it."],
            ['"I will get it for you," said {an2}.'],
            ["{an2} went up the tree and brought the kite down."],
            ["{end_pal}"],
        ],
        [
            ["{His} {friend} came with a ladder.", "{n} called {his} {friend}."],
            ["{His} {friend} climbed up and got the kite."],
            ['"Be more careful next time," said {his} {friend}.'],
            ["{end}"],
        ],
    ),
]

BAKE = [
    [
        "{day} {n} wanted to make {a_baked} for {his} {friend}.",
        "{day} {n} and {his} {friend} wanted to make {a_baked}.",
    ],
    ["First, {he} put milk, eggs and sugar in a big bowl.", "{He} washed {his} hands and took a big bowl."],
    ["Then {he} mixed it with a big spoon.", "{He} mixed and mixed."],
    ["Oh no! The milk fell on the floor.", "But the {baked} was too hot, and {he} had to wait."],
    ['"It is okay," said {his} {friend}. "We can clean it up."', '"Do not worry," said {his} {friend}.'],
    ["Soon the whole house smelled very good.", "At last, the {baked} was ready."],
    ["They ate it together, and it was very good.", '"This is the best {baked} ever!" said {his} {friend}.'],
    ["{end}"],
]

TOY = [
    ["{day} {n} and {pal} both wanted to play with the {col} {obj}."],
    ['"It is mine!" said {pal}.', '"I had it first!" said {n}.'],
    ["They pulled and pulled, and the {obj} broke.", "They pulled and pulled, and they both fell down."],
    ["{n} and {pal} were very sad.", "They looked at each other and were sad."],
    ['"I am sorry," said {n}.', '"I am sorry too," said {pal}.'],
    ["They fixed the {obj} together.", '"We can take turns," said {pal}.'],
    ["{n} learned that it is good to share.", "After that, they always took turns."],
    ["", "The end."],
]

LATE = [
    ["{day} {n} got lost {at2}.", "{day} {n} walked too far and got lost {at2}."],
    ["It was getting dark, and {he} was scared.", "{He} did not know the way home."],
    ['"Help! Help!" {he} cried.', "{He} sat down and started to cry."],
    ["A wise owl sat in a tree.", "An old turtle heard {him}."],
    (
        [['"Follow the river," it said. "It will take you home."'], ["{n} followed the river."]],
        [
            ['"Look at the bright star," it said. "It shows the way."'],
            ["{n} walked and walked and looked at the star."],
        ],
        [['"Come with me," it said. "I know the way."'], ["They walked together in the moonlight."]],
    ),
    ["At last, {he} saw {his} house.", "Soon {n} saw the light in the window."],
    ["{His} {friend} ran out and gave {him} a big hug."],
    ["{end}"],
]

SICK = [
    ["{day} {his} {friend} was sick and had to stay in bed.", "{day} {his} {friend} was sick and could not play."],
    ["{n} wanted to help.", "{n} was worried.", "{n} wanted to do something nice."],
    ["{He} made some hot soup.", "{He} made some tea with honey.", "{He} picked some {col} flowers {at2}."],
    ["{He} read a funny book in a soft voice.", "{He} sang a little song.", "{He} told a funny joke."],
    ['"You make me feel better," said {his} {friend}.', "{His} {friend} laughed and felt much better."],
    ["The next day, everyone was well again.", "After two days, they could play outside again."],
    ["{end}"],
]

MARKET = [
    ["{day} {n} went to the market with {his} {friend}.", "{day} {his} {friend} took {him} to the market."],
    ["{n} saw {a_thing} and wanted it very much.", '"Can I have that {col} {obj}?" asked {n}.'],
    ['"We do not have the money," said {his} {friend}.', "But it cost too much money."],
    ["{n} had an idea.", "{n} thought about it all night."],
    ["{He} helped the people {at2} every day.", "{He} sold {food_many} to the people at the market."],
    ["Soon {he} had enough money.", "At last, {his} jar was full of coins."],
    ["{He} bought the {obj} and hugged it.", "{He} bought the {obj} and gave it to {his} {friend}."],
    ["{end}"],
]

PROUD = [
    ["{day} {n} saw {a_animal} named {an2} {at2}."],
    ['"I am the best in the world," said {an2}. "I can jump higher than anyone."'],
    ['"Can you jump over the river?" asked {n}.', '"Show me," said {n}.'],
    ["{an2} jumped, but fell into the mud.", "{an2} jumped and fell into the water."],
    ["{n} did not laugh.", "Everyone laughed, but {n} did not."],
    ["{He} helped {an2} to get out.", '"Take my hand," {he} said.'],
    ['"Thank you," said {an2}. "I will not be so proud again."'],
    ["{end_pal}"],
]

STAR = [
    ["One night, {n} looked up and saw a bright star.", "One night, {n} could not sleep and looked at the sky."],
    ['"I wish I had a friend," {he} said.', '"I wish I could fly," {he} said.'],
    ["A little star fell down from the sky.", "The star began to shine more and more."],
    ['"I heard your wish," said the star.', '"Hello, {n}," said the star.'],
    ["They flew over the {p} and over the {p2}.", "They danced and sang until the morning."],
    ["Then the star had to go back to the sky.", '"I have to go now," said the star.'],
    ["{n} waved and said goodbye.", "Every night, {n} looks up and waves to the star."],
    ["{end}"],
]

CLEAN = [
    ["{day} the room of {n} was a big mess.", "{day} {n} did not want to clean {his} room."],
    ['"Please clean your room," said {his} {friend}.'],
    ['"I want to play with my {obj}," said {n}.', '"I will do it later," said {n}.'],
    ["But {he} could not find {his} {obj} in the mess."],
    ["{He} picked up the books and the toys.", "So {n} started to clean."],
    ["Under the bed, {he} found the {obj}.", "At last, the room was clean, and there was the {obj}."],
    ['"Good job!" said {his} {friend}.', "{His} {friend} was very proud of {him}."],
    ["{end}"],
]

BIRD = [
    ["{day} a little bird fell out of its nest {at2}.", "{day} {n} saw a little bird {at2}. It could not fly."],
    ["{n} picked it up very gently.", '"Do not be afraid," said {n}.'],
    ["{He} put it in a warm box and gave it some water.", "{He} made a soft bed for it in a basket."],
    ["Every day, the bird got stronger.", "Every day, {n} gave it some food."],
    ["Then one day, the bird could fly.", "One morning, the bird opened its wings and flew."],
    ["{n} was sad, but {he} was also happy for the bird.", "The bird flew around {him} and sang a song."],
    ["After that, the bird came back to visit {him} every day.", "{end}"],
]

BRIDGE = [
    ["{day} {n} wanted to cross the river, but the bridge was broken.", "{day} the old bridge was broken."],
    ['"How can we get to the other side?" asked {pal}.', "No one could cross the river."],
    ["{n} had an idea.", '"We can fix it," said {n}.'],
    ["All the animals came to help.", "{n} called all {his} friends."],
    ["They brought wood and stones.", "The {animal} brought wood, and {pal} brought a rope."],
    ["They worked all day long.", "They worked until the sun went down."],
    ["At last, the bridge was strong again.", '"We did it together!" said {pal}.'],
    ["{end_pal2}"],
]

MUSIC = [
    ["{day} {n} found an old drum {at2}.", "{day} {his} {friend} gave {him} a little drum."],
    ["Boom, boom, boom! {n} played it all day.", "{n} played very loud."],
    ['"It is too loud," said {his} {friend}.', "The baby woke up and started to cry."],
    ["{n} felt sorry and went to the {p}.", "So {he} took the drum to the {p}."],
    ["There {he} met {a_animal} named {an2} who could sing.", "{an2} the {animal} heard it and came to dance."],
    ["They made music together, and everyone clapped.", "Soon all the animals came to dance."],
    ["{end_pal}"],
]

TOOTH = [
    ["{day} {n} had a tooth that was loose.", "{day} {his} tooth hurt, and {he} could not eat {his} {food}."],
    ['"Will it hurt?" {he} asked {his} {friend}.', "{n} was a little scared."],
    ['"No, it will be quick," said {his} {friend}.', '"You are very brave," said {his} {friend}.'],
    ["{n} bit into an apple, and the tooth came out!", "{n} closed {his} eyes, and the tooth came out!"],
    ["{He} put the tooth under {his} pillow.", "That night, {he} put the tooth in a little box."],
    ["In the morning, there was a shiny coin.", "In the morning, {he} found a small gift."],
    ["{end}"],
]

WAIT = [
    ["{day} {n} saw a big {col} apple in a tree.", "{day} {n} wanted to pick a pear, but it was too high."],
    ["{He} jumped and jumped, but {he} could not reach it."],
    ["Then {a_animal} named {an2} came by.", "{n} asked {a_animal} named {an2} for help."],
    ['"Stand on my back," said {an2}.', '"I can help you," said {an2}.'],
    ["Now {n} could reach it.", "Together they were tall enough."],
    ["{n} cut it in two and gave half to {an2}.", '"Half for you and half for me," said {n}.'],
    ["{end_pal}"],
]

PLOTS = [
    SWIM, MONSTER, MAP, KITE, BAKE, TOY, LATE, SICK, MARKET, PROUD, STAR, CLEAN, BIRD, BRIDGE, MUSIC, TOOTH, WAIT,
]  # fmt: skip
