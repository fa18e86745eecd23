"""The native grammar: parsing and formatting are inverse, and no text can break or slow it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError
from agentenvs.core.tools import ActionError, Call, Grammar, Parameter, Tool

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
SCALARS = {
    "string": st.text(max_size=20),
    "integer": st.integers(),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    "boolean": st.booleans(),
}


@st.composite
def parameters(draw, name, required=None):
    kind = draw(st.sampled_from([*SCALARS, "enum", "array"]))
    choices = tuple(draw(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4, unique=True)))
    items = draw(st.sampled_from(list(SCALARS)))
    needed = draw(st.booleans()) if required is None else required
    return Parameter(name, kind, "", choices if kind == "enum" else (), items, needed)


def values(parameter):
    if parameter.type == "enum":
        return st.sampled_from(parameter.choices)
    if parameter.type == "array":
        return st.lists(SCALARS[parameter.items], max_size=4)
    return SCALARS[parameter.type]


@st.composite
def tool_and_call(draw):
    """A tool without a form, and a call of it."""
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    tool = Tool(draw(NAMES), "", tuple(draw(parameters(name)) for name in names))
    given_now = [p for p in tool.parameters if p.required or draw(st.booleans())]
    return tool, Call(tool.name, {p.name: draw(values(p)) for p in given_now})


@given(tool_and_call())
def test_every_call_of_a_bracketed_tool_can_be_written_and_read(pair):
    tool, call = pair
    grammar = Grammar([tool])
    text = grammar.format(call)
    read = grammar.parse(text)
    assert read == call
    assert [type(read.arguments[name]) for name in call.arguments] == [type(v) for v in call.arguments.values()]
    assert grammar.parse(f"  {text}\n") == call


@given(st.text(max_size=30), st.text(max_size=30))
def test_bare_commands_are_read_as_written_or_refused(first, second):
    put = Tool("put", "", (Parameter("item", "string", ""), Parameter("place", "string", "")), "put {item} in {place}")
    grammar = Grammar([put])
    call = Call("put", {"item": first, "place": second})
    try:
        text = grammar.format(call)
    except ActionError:
        assume(False)
    assert text == f"put {first} in {second}"
    assert grammar.parse(text) == call


FORMS = [
    ("{a}", "a"),
    ("go {a}", "a"),
    ("{a}!", "a"),
    ("put {a} in {b}", "ab"),
    ("{a}{b}", "ab"),
    ("x{a}x{b}x{c}x", "abc"),
    ("{a} {b} {c}", "abc"),
]


@given(st.sampled_from(FORMS), st.text("x putingo!", max_size=30))
def test_forms_are_matched_as_the_shortest_regular_expression_would(form, text):
    """The linear matcher against Python's backtracking one."""
    import re

    shape, names = form
    tool = Tool("t", "", tuple(Parameter(name, "string", "") for name in names), shape)
    body = "".join(f"(?P<{p}>.+?)" if i % 2 else re.escape(p) for i, p in enumerate(re.split(r"\{(\w)\}", shape)))
    match = re.compile(body, re.DOTALL).fullmatch(text.strip())
    try:
        read = Grammar([tool]).parse(text)
    except ActionError:
        read = None
    assert read == (Call("t", match.groupdict()) if match else None)


MOVE = Tool("move", "Move.", (Parameter("action", "enum", "", ("Up", "Down", "Left")),), "{action}")
GO = Tool("go", "", (Parameter("place", "string", ""), Parameter("n", "integer", "")), "go to {place} {n}")
SEARCH = Tool("search", "", (Parameter("query", "string", ""),), kind="explore")
BOOK = Tool(
    "book",
    "",
    (
        Parameter("name", "string", ""),
        Parameter("count", "integer", "", required=False),
        Parameter("price", "number", "", required=False),
        Parameter("window", "boolean", "", required=False),
        Parameter("seat", "enum", "", ("a", "b"), required=False),
        Parameter("tags", "array", "", items="string", required=False),
    ),
)
LOOK = Tool("look", "")
GRAMMAR = Grammar([MOVE, GO, SEARCH, BOOK, LOOK], ignore_case=True)


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("Up", "move", {"action": "Up"}),
        (" uP \n", "move", {"action": "Up"}),
        ("LOOK", "look", {}),
        ("go to desk 1", "go", {"place": "desk", "n": 1}),
        ("search[who wrote [sic] it]", "search", {"query": "who wrote [sic] it"}),
        ("search[]", "search", {"query": ""}),
        ("search[ two ]lines]\n]", "search", {"query": " two ]lines]\n"}),
        ('book[{"name": "x"}]', "book", {"name": "x"}),
        ('book[ {"name": "]", "count": 2, "tags": []} ]', "book", {"name": "]", "count": 2, "tags": []}),
    ],
)
def test_what_is_read(text, tool, arguments):
    assert GRAMMAR.parse(text) == Call(tool, arguments)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Unknown action ''. Accepted: Up | Down | Left | go to <place> <n> | search[query]"),
        ("jump", "Unknown action 'jump'. Accepted: Up | Down | Left"),
        ("Search[x]", "Unknown action 'Search[x]'"),
        ("search[x", "Unknown action 'search[x'"),
        ("search[x] now", "Unknown action 'search[x] now'"),
        ("look[]", "Unknown action 'look[]'"),
        ("go to desk one", "n must be of type integer, not 'one'"),
        ("go to desk 1.0", "n must be of type integer, not 1.0"),
        ("go to desk true", "n must be of type integer, not True"),
        ("book[x]", "book needs one JSON object in its brackets; write book["),
        ("book[[]]", "book needs one JSON object"),
        ("book[{}]", "book needs name; write book["),
        ('book[{"name": "x", "name": "y"}]', "book needs one JSON object"),
        ('book[{"name": 3}]', "name must be of type string, not 3"),
        ('book[{"name": null}]', "name must be of type string, not None"),
        ('book[{"name": "x", "nane": 1}]', "book has no parameter 'nane'; write book["),
        ('book[{"name": "x", "count": true}]', "count must be of type integer, not True"),
        ('book[{"name": "x", "price": NaN}]', "price must be of type number, not nan"),
        ('book[{"name": "x", "price": 1e999}]', "price must be of type number, not inf"),
        ('book[{"name": "x", "window": 1}]', "window must be of type boolean, not 1"),
        ('book[{"name": "x", "seat": "c"}]', "seat must be one of a, b, not 'c'"),
        ('book[{"name": "x", "tags": [1]}]', "tags must be a list of string values, not [1]"),
        ('book[{"name": "x", "tags": "ab"}]', "tags must be a list of string values, not 'ab'"),
    ],
)
def test_refusals_say_what_was_wrong_and_what_is_accepted(text, sentence):
    with pytest.raises(ActionError) as caught:
        GRAMMAR.parse(text)
    assert str(caught.value).startswith(sentence)


@given(
    st.text(st.characters())
    | st.sampled_from(["search[", "book[{", "go to "]).flatmap(lambda a: st.text().map(a.__add__))
)
def test_any_text_is_a_call_or_a_refusal(text):
    try:
        call = GRAMMAR.parse(text)
    except ActionError as error:
        assert len(str(error)) < 500
    else:
        assert GRAMMAR.parse(GRAMMAR.format(call)) == call


HOSTILE = {
    "NUL": "search[\0]",
    "lone surrogates": 'book[{"name": "\ud800"}]',
    "raw surrogate": "\udfff",
    "deep arrays": "book[" + "[" * 50_000 + "]" * 50_000 + "]",
    "deep objects": 'book[{"name": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}]",
    "moderately deep": 'book[{"name": ' + "[" * 900 + "]" * 900 + "}]",
    "huge integer": 'book[{"name": "x", "count": ' + "9" * 100_000 + "}]",
    "huge integer word": "go to desk " + "9" * 100_000,
    "huge exponent": 'book[{"name": "x", "count": 1e400}]',
    "unclosed": "search[" * 10_000,
    "closing only": "]" * 100_000,
    "right to left": "\u202eUp\u202c",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_get_a_short_answer(name):
    try:
        call = GRAMMAR.parse(HOSTILE[name])
    except ActionError as error:
        str(error).encode()  # printable everywhere
        assert len(str(error)) < 500
    else:
        assert GRAMMAR.parse(GRAMMAR.format(call)) == call


def test_deep_nesting_is_refused_at_every_depth():
    for depth in [*range(1, 1_100, 7)]:
        with pytest.raises(ActionError, match="name must be of type string|needs one JSON object"):
            GRAMMAR.parse('book[{"name": ' + "[" * depth + "]" * depth + "}]")


def test_a_megabyte_is_answered_in_linear_time():
    """In a process of its own that is killed if it hangs; quadratic matching would take hours."""
    code = """
from agentenvs.core.tools import ActionError, Grammar, Parameter, Tool
word = lambda *names: tuple(Parameter(name, "string", "") for name in names)
grammar = Grammar([
    Tool("go", "", word("place"), "go to {place} now"),
    Tool("use", "", word("a", "b", "c", "d"), "use {a} to {b} on {c} by {d}."),
    Tool("search", "", word("query")),
    Tool("book", "", word("a", "b")),
])
for text in ("go to ", "use x to ", "use  to  to  on  on ", "search[", "book[{", "a", "] ", "use x to y on ", "\\0"):
    for hostile in (text * (1_000_000 // len(text)), "use " + text * (1_000_000 // len(text))):
        try:
            grammar.parse(hostile)
        except ActionError as error:
            assert len(str(error)) < 500
print("answered")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "answered\n"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (Call("fly"), "Unknown tool 'fly'. Known: move, go, search, book, look."),
        (Call("look", {"x": 1}), "look has no parameter 'x'"),
        (Call("go", {"place": "desk"}), "go needs n"),
        (Call("go", {"place": "desk ", "n": "1"}), "n must be of type integer"),
        (Call("go", {"place": "", "n": 1}), "go cannot be written with the arguments"),
        (Call("book", {"name": "x", "price": float("nan")}), "price must be of type number"),
    ],
)
def test_what_cannot_be_written_is_refused(call, sentence):
    with pytest.raises(ActionError) as caught:
        GRAMMAR.format(call)
    assert str(caught.value).startswith(sentence)


def test_case_counts_unless_told_otherwise():
    strict = Grammar([MOVE])
    assert strict.parse("Up").arguments == {"action": "Up"}
    with pytest.raises(ActionError):
        strict.parse("up")


def test_own_spellings_win_over_folded_ones():
    both = Tool("say", "", (Parameter("word", "enum", "", ("up", "Up")),), "{word}")
    grammar = Grammar([both], ignore_case=True)
    assert grammar.parse("up").arguments == {"word": "up"}
    assert grammar.parse("Up").arguments == {"word": "Up"}
    for word in ("up", "Up"):
        assert grammar.parse(grammar.format(Call("say", {"word": word}))).arguments == {"word": word}


def test_large_choices_are_matched_by_pattern():
    places = tuple(f"desk {i}" for i in range(5_000))
    grammar = Grammar([Tool("go", "", (Parameter("place", "enum", "", places),), "go to {place}")])
    assert grammar.parse("go to desk 4999") == Call("go", {"place": "desk 4999"})
    with pytest.raises(ActionError, match="place must be one of"):
        grammar.parse("go to desk 5000")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Parameter("Name", "string", ""), "parameter name"),
        (lambda: Parameter("n", "text", ""), "unknown type"),
        (lambda: Parameter("n", "enum", ""), "choices go with the type enum"),
        (lambda: Parameter("n", "string", "", ("a",)), "choices go with the type enum"),
        (lambda: Tool("Move", ""), "tool name"),
        (lambda: Tool("move", "", kind="fly"), "kind must be one of"),
        (lambda: Tool("move", "", (), "{x}"), "must name every parameter once"),
        (lambda: Tool("move", "", (Parameter("x", "string", ""),), "{x} {x}"), "must name every parameter once"),
        (lambda: Tool("move", "", (Parameter("x", "string", "", required=False),), "{x}"), "no optional parameters"),
        (lambda: Grammar([LOOK, LOOK]), "given twice"),
        (lambda: Grammar([LOOK, Tool("see", "", form="look")]), "writes two actions"),
    ],
)
def test_tools_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_the_schema_is_the_one_that_chat_servers_take():
    function = BOOK.schema()["function"]
    assert function["parameters"]["required"] == ["name"]
    assert function["parameters"]["properties"]["seat"] == {"type": "string", "enum": ["a", "b"], "description": ""}
    assert function["parameters"]["properties"]["tags"]["items"] == {"type": "string"}
    assert json.loads(json.dumps(BOOK.schema())) == BOOK.schema()
