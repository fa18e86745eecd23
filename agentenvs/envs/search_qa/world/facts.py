"""Facts of the real world that a model may know without a search: a passage and a question each.

Each is stable for decades. Most come in groups of one pattern; a row of a group holds the words that fill it, and what
else the passage tells. Of every four facts in turn the first is for training, the second for validation, the
other two for the test, so every group is in every split.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.question import Passage, Question, capital, check_split, passage

_TURNS = {"train": (0,), "validation": (1,), "test": (2, 3)}


class _Group(NamedTuple):
    """`{0}` is the subject, `{1}` the answer. A row is `subject | answer; alias; ... | more text`."""

    title: str
    text: str
    question: str
    rows: str


class _Fact(NamedTuple):
    title: str
    text: str
    question: str
    golds: tuple[str, ...]


_GROUPS = (
    _Group(
        "{1}",
        "{1} is the capital of {0}.",
        "What is the capital of {0}?",
        """France | Paris | The river Seine runs through it.
        Italy | Rome | Legend says that Romulus founded it.
        Spain | Madrid | It lies high up, near the middle of the peninsula.
        Portugal | Lisbon | It stands where the Tagus meets the Atlantic.
        Austria | Vienna | It lies on the Danube and was home to many composers.
        Hungary | Budapest | The Danube divides its two halves.
        Poland | Warsaw | It lies on the Vistula.
        Norway | Oslo | It stands at the end of a long fjord.
        Finland | Helsinki | It is a port on the Gulf of Finland.
        Greece | Athens | The Parthenon looks down on it.
        Ireland | Dublin | The Liffey crosses it.
        Egypt | Cairo | The pyramids of Giza are close by.
        Kenya | Nairobi | A national park with lions begins at its edge.
        Japan | Tokyo | It was once called Edo.
        Thailand | Bangkok | Canals used to be its streets.
        Mongolia | Ulaanbaatar; Ulan Bator | Its winters are among the coldest of any capital.
        Canada | Ottawa | It lies on the border of Ontario with Quebec.
        Australia | Canberra | It was planned between two larger rivals.
        Argentina | Buenos Aires | It lies on the Río de la Plata.
        Peru | Lima | Its port is Callao.
        Cuba | Havana | An old fortress guards its harbour.
        Chile | Santiago; Santiago de Chile | On clear days the Andes can be seen from its streets.""",
    ),
    _Group(
        "{0}",
        "{0} is a chemical element. Chemists write {1} for it.",
        "What is the chemical symbol of the element {0}?",
        """hydrogen | H | Its atom is the lightest of all.
        helium | He | It makes balloons rise and does not burn.
        carbon | C | Diamond and graphite consist of it.
        nitrogen | N | Most of the air is made of it.
        oxygen | O | Fire and breathing both need it.
        sodium | Na | The letters come from the Latin word natrium.
        potassium | K | The letter comes from kalium.
        iron | Fe | It rusts in damp air.
        copper | Cu | Electric cables are made of this reddish metal.
        silver | Ag | No metal conducts electricity better.
        gold | Au | It does not tarnish.
        mercury | Hg | It is a metal that is liquid at room temperature.
        lead | Pb | It is soft, heavy and poisonous.
        tin | Sn | Bronze holds some of it beside copper.
        tungsten | W | No metal melts at a higher temperature.
        zinc | Zn | Brass holds some of it beside copper.""",
    ),
    _Group(
        "{1} in the table of elements",
        "In the periodic table, the element with atomic number {0} is {1}.",
        "Which element has the atomic number {0}?",
        """1 | hydrogen | Its nucleus is a single proton in most cases.
        2 | helium | It was first seen in the light of the Sun.
        6 | carbon | The chemistry of life is built on it.
        8 | oxygen | It comes before fluorine.
        10 | neon | It glows red in tubes.
        26 | iron | Much of the core of the Earth consists of it.
        79 | gold | Its neighbours are platinum and mercury.
        92 | uranium | Reactors split its nuclei.""",
    ),
    _Group(
        "{0} (book)",
        "{0} is a work of literature by {1}.",
        "Who wrote {0}?",
        """Moby-Dick | Herman Melville; Melville | A captain hunts a white whale in it.
        Don Quixote | Miguel de Cervantes; Cervantes; Miguel de Cervantes Saavedra | Its hero charges at windmills.
        War and Peace | Leo Tolstoy; Tolstoy | It follows Russian families through the wars with Napoleon.
        Crime and Punishment | Fyodor Dostoevsky; Dostoevsky; Fyodor Dostoyevsky; Dostoyevsky | A student kills in it.
        Pride and Prejudice | Jane Austen; Austen | Elizabeth Bennet and Mr Darcy misjudge each other.
        Frankenstein | Mary Shelley; Shelley; Mary Wollstonecraft Shelley | A scientist gives life to a creature.
        Dracula | Bram Stoker; Stoker | A count from Transylvania comes to England.
        Hamlet | William Shakespeare; Shakespeare | It is a tragedy about a prince of Denmark.
        Faust | Johann Wolfgang von Goethe; Goethe; Johann Wolfgang Goethe | A scholar makes a pact with the devil.
        Les Misérables | Victor Hugo; Hugo | Jean Valjean is its hero.
        Madame Bovary | Gustave Flaubert; Flaubert | It tells of the wife of a country doctor.
        The Divine Comedy | Dante; Dante Alighieri | It leads through hell, purgatory and paradise.
        The Odyssey | Homer | It tells of a long way home from Troy.
        The Metamorphosis | Franz Kafka; Kafka | A man wakes up as a huge insect.
        Great Expectations | Charles Dickens; Dickens | An orphan named Pip grows up in it.
        Jane Eyre | Charlotte Brontë; Charlotte Bronte | A governess comes to Thornfield Hall.
        Ulysses | James Joyce; Joyce | It passes on one day in Dublin.
        Nineteen Eighty-Four | George Orwell; Orwell | Big Brother is watching in it.
        Treasure Island | Robert Louis Stevenson; Stevenson | Long John Silver is its pirate.
        Around the World in Eighty Days | Jules Verne; Verne | Phileas Fogg travels for a bet.""",
    ),
    _Group(
        "{0} (event)",
        "Historians date {0} to the year {1}.",
        "In which year was {0}?",
        """the first landing of people on the Moon | 1969 | Armstrong and Aldrin were the ones who walked there.
        the fall of the Berlin Wall | 1989 | Germany was one country again within twelve months.
        the sinking of the Titanic | 1912 | The ship had hit an iceberg on her first voyage.
        the storming of the Bastille | 1789 | It began the French Revolution.
        the Battle of Hastings | 1066 | The Normans won it.
        the Battle of Waterloo | 1815 | It was the last that Napoleon fought.
        the sealing of Magna Carta | 1215 | King John agreed to it at Runnymede.
        the first voyage of Columbus to America | 1492 | Three ships took part.
        the fall of Constantinople to the Ottomans | 1453 | It ended the Byzantine Empire.
        the American Declaration of Independence | 1776 | Jefferson drafted it.
        the outbreak of the First World War | 1914 | An assassination in Sarajevo came before it.
        the end of the Second World War | 1945 | Japan was the last to surrender.
        the Great Fire of London | 1666 | It started in a bakery.
        the opening of the Suez Canal | 1869 | Ships no longer had to sail around Africa to reach India.""",
    ),
    _Group(
        "Money of {0}",
        "In {0} people pay with the {1}.",
        "What is the currency of {0}?",
        """Japan | yen; Japanese yen | Its sign is a Y with two strokes.
        India | rupee; Indian rupee | It is divided into a hundred paise.
        Switzerland | franc; Swiss franc | Liechtenstein uses it too.
        the United Kingdom | pound; pound sterling; sterling; British pound | It is divided into a hundred pence.
        China | yuan; renminbi; Chinese yuan | The people's currency is another name of it.
        Brazil | real; Brazilian real | It replaced a currency that had lost its worth.
        Turkey | lira; Turkish lira | Its name goes back to a Roman measure of weight.
        Thailand | baht; Thai baht | It is divided into a hundred satang.
        Israel | shekel; new shekel; Israeli shekel | It is divided into a hundred agorot.
        South Africa | rand; South African rand | It is named for a ridge where gold was found.""",
    ),
    _Group(
        "Speaking in {0}",
        "The language that most people in {0} speak is {1}.",
        "Which language do most people in {0} speak?",
        """Brazil | Portuguese | It came across the Atlantic with sailors from Lisbon.
        Austria | German | It has its own words for many dishes.
        Egypt | Arabic; Egyptian Arabic | Films have made its local form known abroad.
        Mexico | Spanish | Dozens of older languages are spoken beside it.
        Iran | Persian; Farsi | It is written in a script that came from Arabia.
        Hungary | Hungarian; Magyar | It is related to Finnish and to no neighbour's language.
        Iceland | Icelandic | Its speakers can still read the old sagas.
        Australia | English | Hundreds of older languages were spoken there before it.""",
    ),
    _Group(
        "{0} (painting)",
        "{0} is a famous picture by {1}.",
        "Who painted {0}?",
        """the Mona Lisa | Leonardo da Vinci; Leonardo; da Vinci | It hangs in the Louvre.
        The Night Watch | Rembrandt; Rembrandt van Rijn | It shows a company of guards in Amsterdam.
        Guernica | Pablo Picasso; Picasso | It cries out against the bombing of a Basque town.
        The Starry Night | Vincent van Gogh; van Gogh | The sky whirls above a village.
        Girl with a Pearl Earring | Johannes Vermeer; Vermeer; Jan Vermeer | She looks over her shoulder.
        The Birth of Venus | Sandro Botticelli; Botticelli | A goddess arrives on a shell.
        The Scream | Edvard Munch; Munch | A figure holds its face on a bridge.
        the ceiling of the Sistine Chapel | Michelangelo; Michelangelo Buonarroti | It took about four years.""",
    ),
    _Group(
        "{0} (music)",
        "The composer of {0} is {1}.",
        "Who composed {0}?",
        """The Magic Flute | Wolfgang Amadeus Mozart; Mozart | Papageno catches birds in this opera.
        The Four Seasons | Antonio Vivaldi; Vivaldi | These are concertos for the violin.
        Swan Lake | Pyotr Ilyich Tchaikovsky; Tchaikovsky; Pyotr Tchaikovsky | It is danced in white.
        the Moonlight Sonata | Ludwig van Beethoven; Beethoven | It is played on the piano.
        the Brandenburg Concertos | Johann Sebastian Bach; Bach; J. S. Bach | There are six of them.
        Aida | Giuseppe Verdi; Verdi | This opera is set on the Nile.""",
    ),
    _Group(
        "{0} (discovery)",
        "{0} goes back to {1}.",
        "To whom does {0} go back?",
        """the theory of general relativity | Albert Einstein; Einstein | It explains gravity by curved space and time.
        the discovery of penicillin | Alexander Fleming; Fleming | Mould had spoiled a dish of bacteria.
        the law of universal gravitation | Isaac Newton; Newton; Sir Isaac Newton | It holds for apples and for moons.
        the periodic table of the elements | Dmitri Mendeleev; Mendeleev | It had gaps for what was not found yet.
        the theory of evolution by natural selection | Charles Darwin; Darwin | A voyage on the Beagle came first.
        the idea that planets move on ellipses | Johannes Kepler; Kepler | Observations of Mars led to it.
        the first vaccine against smallpox | Edward Jenner; Jenner | He had noticed that milkmaids stayed well.""",
    ),
)
#: title | text | question | answer; alias; ...
_SINGLE = """Mercury (planet) | Mercury is closest to the Sun of all planets. \
| Which planet is closest to the Sun? | Mercury
Jupiter | Jupiter is the largest planet that circles the Sun. | Which planet of the Solar System is largest? | Jupiter
Mars | Iron oxide gives Mars its colour and its name of Red Planet. | Which planet is called the Red Planet? | Mars
Venus | Venus is the hottest planet of the Solar System. | Which planet of the Solar System is the hottest? | Venus
Neptune | Neptune is the planet farthest from the Sun. | Which planet is farthest from the Sun? | Neptune
Titan | Titan is the largest moon of Saturn. | What is the largest moon of Saturn? | Titan
The Solar System | Eight planets circle the Sun. | How many planets circle the Sun? | 8; eight
Spiders | Spiders walk on eight legs. | How many legs does a spider have? | 8; eight
Insects | Insects have three pairs of legs, six in all. | How many legs does an insect have? | 6; six
Boiling | At sea level water boils at 100 degrees Celsius. | At how many degrees Celsius does water boil at sea level? \
| 100; 100 degrees; 100 degrees Celsius; one hundred
Triangle | The angles of a flat triangle add up to 180 degrees. | How many degrees do the angles of a triangle add up \
to? | 180; 180 degrees
Octagon | An octagon has eight sides. | How many sides does an octagon have? | 8; eight
Heart | The human heart has four chambers. | How many chambers does the human heart have? | 4; four
Femur | The femur, in the thigh, is the longest bone of the body. | What is the longest bone of the human body? \
| femur; thigh bone; thighbone
Skin | The skin is the largest organ of the human body. | What is the largest organ of the human body? | skin
Pancreas | Insulin comes from the pancreas. | Which organ of the body makes insulin? | pancreas
Photosynthesis | By photosynthesis plants turn light, water and carbon dioxide into sugar. | By what process do plants \
turn light into sugar? | photosynthesis
Blue whale | No animal is larger than the blue whale. | What is the largest animal on Earth? | blue whale
Cheetah | No animal runs faster than the cheetah. | Which animal runs fastest? | cheetah
Everest | Mount Everest is the highest mountain above sea level. | What is the highest mountain above sea level? \
| Mount Everest; Everest
The Pacific | The Pacific is the largest ocean. | Which ocean is the largest? | Pacific; Pacific Ocean
Asia | Asia is the largest continent. | Which continent is the largest? | Asia
Baikal | Lake Baikal is the deepest lake on Earth. | What is the deepest lake on Earth? | Lake Baikal; Baikal
Danube | The Danube ends in the Black Sea. | Into which sea does the Danube flow? | Black Sea
Vatican City | No independent state is smaller than Vatican City. | What is the smallest independent state? \
| Vatican City; Vatican; Holy See
Greenland | Greenland is the largest island that is not a continent. | What is the largest island? | Greenland
Chess | A chessboard has 64 squares. | How many squares does a chessboard have? | 64; sixty-four
Football | A football team sends eleven players onto the field. | With how many players does a football team start a \
match? | 11; eleven
Water | Water consists of hydrogen and oxygen; its formula is H2O. | What is the chemical formula of water? | H2O
Salt | Table salt is sodium chloride. | What is the chemical name of table salt? | sodium chloride; NaCl
Diamond | Diamond is the hardest natural mineral. | Which natural mineral is the hardest? | diamond
Newton (unit) | Force is measured in newtons. | In which SI unit is force measured? | newton; newtons"""


def passages() -> tuple[Passage, ...]:
    """One passage a fact; ids f0, f1, ..."""
    return tuple(passage(f"f{number}", fact.title, fact.text) for number, fact in enumerate(_facts()))


@cache
def questions(split: str) -> tuple[Question, ...]:
    """The questions of a split, mixed."""
    asked = [
        Question(f"fact1.{number}", fact.question, fact.golds, (f"f{number}",), 1, "fact")
        for number, fact in enumerate(_facts())
        if number % 4 in _TURNS[check_split(split)]
    ]
    Stream("search_qa", "facts", split).shuffle(asked)
    return tuple(asked)


@cache
def _facts() -> tuple[_Fact, ...]:
    single = (_cells(row) for row in _SINGLE.splitlines())
    return (*_grouped(), *(_Fact(title, text, asked, _golds(golds)) for title, text, asked, golds in single))


def _grouped() -> Iterator[_Fact]:
    for group in _GROUPS:
        for subject, answers, more in map(_cells, group.rows.splitlines()):
            golds = _golds(answers)
            title, text, question = (part.format(subject, golds[0]) for part in group[:3])
            yield _Fact(capital(title), f"{capital(text)} {more}", question, golds)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|")]


def _golds(cell: str) -> tuple[str, ...]:
    return tuple(gold.strip() for gold in cell.split(";"))
