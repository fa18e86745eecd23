"""The relations of organisations, works, events and finds."""

from __future__ import annotations

from agentenvs.envs.search_qa.world.relation import Relation


def _organisation(kind: str) -> tuple[Relation, ...]:
    """Founder, year and seat: the same for all organisations."""
    return (
        Relation(
            kind,
            "founder",
            told=("{He} was founded by {o}.", "{His} founder was {o}."),
            ask=("Who founded {x}?", "Who was the founder of {x}?"),
            noun=("the founder of {x}", "the person who founded {x}"),
            back_ask=(f"Which {kind} was founded by {{x}}?", f"Which {kind} did {{x}} found?"),
            back_noun=(f"the {kind} that {{x}} founded", f"the {kind} founded by {{x}}"),
        ),
        Relation(
            kind,
            "founded",
            told=("{He} dates from {o}.", "{He} opened in {o}.", "{His} story began in {o}."),
            ask=("When was {x} founded?", "In which year did {x} open?"),
            event=("the founding of {x}",),
            less=(f"Which {kind} is older, {{a}} or {{b}}?", f"Which {kind} was founded first, {{a}} or {{b}}?"),
            more=(f"Which {kind} was founded later, {{a}} or {{b}}?",),
            is_less=("Was {a} founded before {b}?",),
        ),
        Relation(
            kind,
            "town",
            told=("{His} seat is in {o}.", "{He} is located in {o}.", "{His} buildings stand in {o}."),
            ask=("In which town is {x}?", "Where is {x} located?"),
            noun=("the town where {x} is located", "the home town of {x}"),
            same=("Are {a} and {b} in the same town?", "Are {a} and {b} located in the same town?"),
        ),
    )


def _work(kind: str, maker: str, verb: str, made: str, event: str, became: str) -> tuple[Relation, ...]:
    """Maker and year of a work."""
    return (
        Relation(
            kind,
            maker,
            told=(f"The {maker} is {{o}}.", f"{{He}} was {made} by {{o}}."),
            ask=(f"Who {verb} {{x}}?", f"Who is the {maker} of {{x}}?"),
            noun=(f"the {maker} of {{x}}", f"the person who {verb} {{x}}"),
            back_ask=(f"Which {kind} is by {{x}}?", f"Which {kind} was {made} by {{x}}?"),
            back_noun=(f"the {kind} by {{x}}", f"the {kind} that {{x}} {verb}"),
            same=(f"Are {{a}} and {{b}} by the same {maker}?",),
        ),
        Relation(
            kind,
            "year",
            told=(f"{{He}} was {became} in {{o}}.", f"The year in which {{he}} was {became} is {{o}}."),
            ask=(f"When was {{x}} {became}?", f"In which year was {{x}} {became}?"),
            event=(f"the {event} of {{x}}",),
            when=(f"{{x}} was {became}",),
            less=(f"Which {kind} was {became} first, {{a}} or {{b}}?", f"Which {kind} is older, {{a}} or {{b}}?"),
            more=(f"Which {kind} was {became} later, {{a}} or {{b}}?",),
            is_less=(f"Was {{a}} {became} before {{b}}?",),
        ),
    )


def _found(kind: str) -> tuple[Relation, ...]:
    """Discoverer and year of a mineral or a flower."""
    return (
        Relation(
            kind,
            "discoverer",
            told=("{He} was discovered by {o}.", "{His} discoverer was {o}."),
            ask=("Who discovered {x}?", "Who was the discoverer of {x}?"),
            noun=("the discoverer of {x}", "the person who discovered {x}"),
            back_ask=(f"Which {kind} was discovered by {{x}}?", f"Which {kind} did {{x}} discover?"),
            back_noun=(f"the {kind} that {{x}} discovered", f"the {kind} discovered by {{x}}"),
        ),
        Relation(
            kind,
            "year",
            told=("{He} has been known since {o}.", "The discovery was made in {o}."),
            ask=("When was {x} discovered?", "In which year was {x} discovered?"),
            event=("the discovery of {x}",),
            when=("{x} was discovered",),
            less=(f"Which {kind} was discovered first, {{a}} or {{b}}?",),
            more=(f"Which {kind} was discovered later, {{a}} or {{b}}?",),
            is_less=("Was {a} discovered before {b}?",),
        ),
        Relation(
            kind,
            "colour",
            told=("{His} colour is {o}.", "{He} can be told by {his} {o} colour."),
            ask=("What colour is {x}?", "What is the colour of {x}?"),
        ),
    )


def _count(kind: str, name: str, told: tuple[str, ...], ask: tuple[str, ...], *units: str) -> Relation:
    return Relation(kind, name, told=told, ask=ask, units=units)


ORGANISATIONS = (
    *_organisation("school"),
    *_organisation("company"),
    *_organisation("museum"),
    Relation(
        "company",
        "product",
        told=("{He} makes {o}.", "{His} trade is in {o}."),
        ask=("What does {x} make?", "What is the product of {x}?"),
        same=("Do {a} and {b} make the same product?",),
    ),
    _count(
        "company",
        "workers",
        ("{He} employs {o}.", "{He} counts {o}."),
        ("How many workers does {x} employ?",),
        "workers",
        "people",
    ),
    _count(
        "museum",
        "halls",
        ("The collection fills {o}.", "Visitors walk through {o}."),
        ("How many halls does {x} have?", "How many halls does the collection of {x} fill?"),
        "halls",
    ),
    _count(
        "school",
        "pupils",
        ("{He} has room for {o}.", "{He} takes {o}."),
        ("For how many pupils does {x} have room?", "How many pupils does {x} take?"),
        "pupils",
        "students",
    ),
    Relation(
        "school",
        "emblem",
        told=("Over the gate stands {a_o}.", "The gate bears {a_o}, carved in stone."),
        ask=("Which animal stands over the gate of {x}?", "What is carved on the gate of {x}?"),
    ),
)
WORKS = (
    *_work("novel", "author", "wrote", "written", "publication", "published"),
    Relation(
        "novel",
        "publisher",
        told=("The publisher was {o}.", "{He} was brought out by {o}."),
        ask=("Which company published {x}?", "Who was the publisher of {x}?"),
        noun=("the company that published {x}", "the publisher of {x}"),
        same=("Did the same company publish {a} and {b}?",),
    ),
    Relation(
        "novel",
        "setting",
        told=("The story is set in {o}.", "The plot unfolds in {o}."),
        ask=("Where is {x} set?", "In which town is {x} set?"),
        noun=("the town where {x} is set", "the setting of {x}"),
        back_ask=("Which novel is set in {x}?",),
        back_noun=("the novel that is set in {x}",),
        same=("Are {a} and {b} set in the same town?",),
    ),
    _count(
        "novel",
        "pages",
        ("The first edition has {o}.", "{He} fills {o} in the first edition."),
        ("How many pages does the first edition of {x} have?", "How many pages long is the first edition of {x}?"),
        "pages",
    ),
    *_work("painting", "painter", "painted", "painted", "completion", "finished"),
    Relation(
        "painting",
        "museum",
        told=("{He} hangs in {o}.", "{He} belongs to {o}."),
        ask=("In which museum does {x} hang?", "Which museum owns {x}?"),
        noun=("the museum where {x} hangs", "the museum that owns {x}"),
        same=("Do {a} and {b} hang in the same museum?",),
    ),
    Relation(
        "painting",
        "motif",
        told=("{He} shows {o}.", "{His} subject is {o} at dawn."),
        ask=("Which mountain does {x} show?", "Which mountain is the subject of {x}?"),
        noun=("the mountain that {x} shows", "the mountain shown in {x}"),
        back_ask=("Which painting shows {x}?",),
        back_noun=("the painting that shows {x}",),
    ),
    _count(
        "painting",
        "width",
        ("The canvas is {o} wide.", "{His} width is {o}."),
        ("How wide is {x}?", "What is the width of {x} in centimetres?"),
        "centimetres",
        "cm",
    ),
    *_work("opera", "composer", "composed", "composed", "premiere", "first performed"),
    Relation(
        "opera",
        "premiere",
        told=("The premiere took place in {o}.", "{He} was first heard in {o}."),
        ask=("Where was {x} first heard?", "In which town did the premiere of {x} take place?"),
        noun=("the town where {x} was first heard", "the town where the premiere of {x} took place"),
        same=("Did the premieres of {a} and {b} take place in the same town?",),
    ),
    Relation(
        "opera",
        "dedicatee",
        told=("{He} is dedicated to {o}.", "The score bears a dedication to {o}."),
        ask=("To whom is {x} dedicated?", "Who is the dedicatee of {x}?"),
        noun=("the person to whom {x} is dedicated", "the dedicatee of {x}"),
        back_ask=("Which opera is dedicated to {x}?",),
        back_noun=("the opera that is dedicated to {x}",),
    ),
    _count("opera", "acts", ("{He} has {o}.", "The action is told in {o}."), ("How many acts does {x} have?",), "acts"),
)
EVENTS = (
    Relation(
        "ship",
        "builder",
        told=("{He} was built by {o}.", "{His} builder was {o}."),
        ask=("Which company built {x}?", "By which company was {x} built?"),
        noun=("the company that built {x}", "the builder of {x}"),
        same=("Were {a} and {b} built by the same company?",),
    ),
    Relation(
        "ship",
        "captain",
        told=("{His} only captain was {o}.", "{He} sailed under {o}."),
        ask=("Who was the captain of {x}?", "Who commanded {x}?"),
        noun=("the captain of {x}", "the person who commanded {x}"),
        back_ask=("Which ship did {x} command?", "Of which ship was {x} the captain?"),
        back_noun=("the ship that {x} commanded",),
    ),
    Relation(
        "ship",
        "year",
        told=("{He} was launched in {o}.", "The launch was in {o}."),
        ask=("When was {x} launched?", "In which year was {x} launched?"),
        event=("the launch of {x}",),
        when=("{x} was launched",),
        less=("Which ship was launched first, {a} or {b}?", "Which ship is older, {a} or {b}?"),
        more=("Which ship was launched later, {a} or {b}?",),
        is_less=("Was {a} launched before {b}?",),
    ),
    _count(
        "ship", "crew", ("The crew numbered {o}.", "{He} sailed with {o}."), ("How many hands sailed on {x}?",), "hands"
    ),
    Relation(
        "battle",
        "victor",
        told=("The winning side was led by {o}.", "Victory went to {o}."),
        ask=("Who won {x}?", "Who led the winning side in {x}?"),
        noun=("the victor of {x}", "the person who won {x}"),
        back_ask=("Which battle did {x} win?", "Which battle was won by {x}?"),
        back_noun=("the battle that {x} won",),
    ),
    Relation(
        "battle",
        "place",
        told=("{He} was fought on the banks of {o}.", "The armies met at {o}."),
        ask=("On the banks of which river was {x} fought?", "At which river was {x} fought?"),
        noun=("the river on whose banks {x} was fought", "the river where {x} was fought"),
        back_ask=("Which battle was fought on the banks of {x}?",),
        back_noun=("the battle that was fought on the banks of {x}",),
    ),
    Relation(
        "battle",
        "year",
        told=("{He} took place in {o}.", "{He} was fought in {o}."),
        ask=("When was {x} fought?", "In which year did {x} take place?"),
        event=("{x}",),
        when=("{x} was fought",),
        less=("Which battle was fought first, {a} or {b}?",),
        more=("Which battle was fought later, {a} or {b}?",),
        is_less=("Was {a} fought before {b}?",),
    ),
    _count("battle", "days", ("{He} lasted {o}.", "It was over after {o}."), ("How many days did {x} last?",), "days"),
    Relation(
        "expedition",
        "leader",
        told=("{He} was led by {o}.", "At {his} head was {o}."),
        ask=("Who led {x}?", "Who was the leader of {x}?"),
        noun=("the leader of {x}", "the person who led {x}"),
        back_ask=("Which expedition did {x} lead?", "Which expedition was led by {x}?"),
        back_noun=("the expedition that {x} led",),
    ),
    Relation(
        "expedition",
        "goal",
        told=("{His} goal was the source of {o}.", "{He} followed {o} upstream."),
        ask=("Which river did {x} follow?", "Which river did {x} explore?"),
        noun=("the river that {x} explored", "the river that {x} followed"),
        back_ask=("Which expedition explored {x}?",),
        back_noun=("the expedition that explored {x}",),
    ),
    Relation(
        "expedition",
        "year",
        told=("{He} set out in {o}.", "The departure was in {o}."),
        ask=("When did {x} set out?", "In which year did {x} set out?"),
        event=("the departure of {x}",),
        when=("{x} set out",),
        less=("Which expedition set out first, {a} or {b}?",),
        more=("Which expedition set out later, {a} or {b}?",),
        is_less=("Did {a} set out before {b}?",),
    ),
    _count(
        "expedition",
        "mules",
        ("{He} took along {o}.", "The baggage was carried by {o}."),
        ("How many mules went with {x}?",),
        "mules",
    ),
)
FINDS = (
    *_found("mineral"),
    Relation(
        "mineral",
        "site",
        told=("{He} was first found on {o}.", "The first sample came from {o}."),
        ask=("On which mountain was {x} first found?", "From which mountain did the first sample of {x} come?"),
        noun=("the mountain where {x} was first found",),
        back_ask=("Which mineral was first found on {x}?",),
        back_noun=("the mineral that was first found on {x}",),
    ),
    *_found("flower"),
    Relation(
        "flower",
        "river",
        told=("{He} grows along {o}.", "{He} is found only on the banks of {o}."),
        ask=("Along which river does {x} grow?", "On the banks of which river is {x} found?"),
        noun=("the river along which {x} grows",),
        back_ask=("Which flower grows along {x}?",),
        back_noun=("the flower that grows along {x}",),
    ),
)
RELATIONS = (*ORGANISATIONS, *WORKS, *EVENTS, *FINDS)
