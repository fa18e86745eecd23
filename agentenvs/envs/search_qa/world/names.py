"""Invented names: syllables of six cultures, and titles from a stock of words. No name is given twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.question import article, capital, words


class Culture(NamedTuple):
    """How the names of a people sound: a stem is onset + vowel (+ coda) twice; then comes an ending."""

    onsets: Sequence[str]
    vowels: Sequence[str]
    codas: Sequence[str]
    female: Sequence[str]
    male: Sequence[str]
    family: Sequence[str]
    town: Sequence[str]


CULTURES = (
    Culture(
        words("b d dr g h k kv l m n r s sk t tr v"),
        words("a e i o u"),
        words("l n r rk st sk"),
        words("ira ene uva"),
        words("ok ard un"),
        words("esk ovar inde"),
        words("aum orra esk"),
    ),
    Culture(
        words("b c d f fl g l m n p pr s t v z"),
        words("a e i o ia eo"),
        words("l n r s nd"),
        words("essa ilia ome"),
        words("andro itto ezo"),
        words("azzi erol amonde"),
        words("osa ento evere"),
    ),
    Culture(
        words("ch d h j k l m n q r sh t w y z"),
        words("a e i o u ai"),
        words("m n r sh l"),
        words("aya ishe uli"),
        words("im adur eb"),
        words("adji umar essin"),
        words("avad ush irun"),
    ),
    Culture(
        words("b br c cl d f g gl l ll m n p r t th w"),
        words("a e i o y ae"),
        words("n r th ll dd wn"),
        words("wen ynne eira"),
        words("og edd yr"),
        words("aith owan ennor"),
        words("wick porth ennan"),
    ),
    Culture(
        words("h k l m n p r s t v j"),
        words("aa ee i o u y"),
        words("k l n s r t"),
        words("ikki emi ulla"),
        words("po aino uri"),
        words("seloi kanu vorik"),
        words("lampa nisku saara"),
    ),
    Culture(
        words("b ch d g h k m n ng p qu s t tl x y"),
        words("a e i o u ua"),
        words("c n l tl z"),
        words("itla ama oli"),
        words("oc enco itzo"),
        words("acal ohua ixto"),
        words("apan ulco eqa"),
    ),
)
#: Stems and names that are words, or too well known.
_TAKEN = frozenset(
    words(
        "adam alaska alba amanda anna ares arles aria arno atlas bali baron basel berlin bolton bonn boris boston "
        "brava brenda bristol burma cairo calais camilla canada capri carla carmen cedar celia chico china clara como "
        "corfu cuba dakar dallas damascus darwin delhi delta denver diana donna dover dublin durham eden elena emma "
        "ezra fatima flora florence gala galen gandhi geneva genoa ghana goa gandalf hamlet hanoi harlem harry helena "
        "helsinki homer ibiza iran iraq ireland islamabad istanbul jamaica java jena jordan judas julia kabul kansas "
        "karachi karen kenya kiev korea kuwait lagos laos latvia lena leon lima linda lisa london lorena lucca luna "
        "madrid malaga mali malta manila maria marina marseille mecca medina melissa mexico milan milano modena "
        "monaco monza mumbai nairobi natal nepal nero nissan odessa oman oslo padua panama paris parma perth peru "
        "pisa plato poland prague punjab quebec qatar rabat ramses reno riga roma rome romeo rosa rossi salem samara "
        "samoa santa sardinia seneca serena seville siena simba sinai sofia sparta syria tahiti taiwan tampa tehran "
        "texas tibet togo tokyo tonga toyota turin ulm utah valencia varese vega venice verona victoria vienna "
        "vilnius viola wales warsaw wien yemen yukon zambia zara zeus zurich salami tomato potato banana marble "
        "mandarin tandem moment cement dolphin "
        "ganga gilze glace hanna nitre noria"
    )
)
_ADJECTIVES = words(
    "Amber Ashen Bitter Blue Borrowed Brass Careful Cold Copper Crooked Distant Dusty Early Eighth Faded Gentle "
    "Gilded Grey Hollow Honest Iron Ivory Last Late Lean Leaden Little Lonely Lost Narrow Ninth Northern Old Painted "
    "Pale Patient Plain Quiet Restless Rusted Seventh Sixth Sleeping Slow Southern Spare Stubborn Tall Tin Upper Weary "
    "White Wooden Yellow Young"
)
_NOUNS = words(
    "Almond Anchor Apron Barley Basin Bell Bridge Broom Candle Carpet Cellar Chimney Clock Comet Cradle Door Drum Eel "
    "Ember Feather Ferry Fiddle Finch Fountain Gate Glove Granary Hammer Harbour Harvest Hedge Heron Hive Inkwell Jar "
    "Kettle Key Ladder Lantern Ledger Lemon Loom Magpie Meadow Mill Mirror Moth Needle Oar Orchard Oven Owl Pear "
    "Plough Quarry Quilt Ribbon Saddle Salt Shutter Sieve Sparrow Spoon Staircase Stove Tailor Thimble Thistle Toad "
    "Tower Valley Wagon Wharf Winter Window Wren"
)
_WORKS = (
    "The {a} {n} of {m}",
    "The {a} {n} and the {m}",
    "{A_n} for the {a} {m}",
    "{a} {n}, {b} {m}",
    "The {n} in the {a} {m}",
    "{a} {n} without {m}",
)


class Names:
    """Gives out names from a stream, each at most once."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._given = set(_TAKEN)

    def coin(self, culture: Culture, endings: Sequence[str]) -> str:
        """A new name of 5 to 11 letters, in no case the same as another."""
        while True:
            name = self._syllable(culture) + self._syllable(culture) + self._stream.choice(endings)
            if 5 <= len(name) <= 11 and name not in self._given and _speakable(name):
                self._given.add(name)
                return name.capitalize()

    def work(self) -> str:
        """A new title of a work. Titles share words, and some differ in one word only."""
        return self._fresh(_WORKS)

    def plain(self, form: str) -> str:
        """A new title that fills the form: `{a}` an adjective, `{n}` a noun."""
        return self._fresh((form,))

    def _fresh(self, forms: Sequence[str]) -> str:
        pick = self._stream.choice
        while True:
            noun = pick(_NOUNS)
            fill = {"a": pick(_ADJECTIVES), "b": pick(_ADJECTIVES), "n": noun, "m": pick(_NOUNS)}
            title = pick(forms).format(**fill, A_n=capital(article(noun)))
            if title.lower() not in self._given and len(set(title.split())) == len(title.split()):
                self._given.add(title.lower())
                return title

    def _syllable(self, culture: Culture) -> str:
        pick = self._stream.choice
        coda = pick(culture.codas) if self._stream.below(3) == 0 else ""
        return pick(culture.onsets) + pick(culture.vowels) + coda


def _speakable(name: str) -> bool:
    """No three vowels and no four consonants in a row."""
    marks = "".join("v" if letter in "aeiouy" else "-" for letter in name)
    return "vvv" not in marks and "----" not in marks
