"""The command line, `agentenvs COMMAND`: a function declares each command, another carries it out."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import agentenvs
from agentenvs.core.errors import AgentEnvsError, ConfigError, InfrastructureError, VerificationError, quote

OK, REFUSED, USAGE, INFRASTRUCTURE, INTERRUPTED = 0, 1, 2, 3, 130
_EXIT_CODES = """exit codes:
  0    done
  1    refused: a submission does not hold, or the contract is broken
  2    a mistake in the command, a name, a file or a setting
  3    a failure that is not yours: a server is down, a download failed
  130  interrupted (Ctrl-C); run the same command again to go on"""
_EXAMPLES = """examples:
  agentenvs list                                        every id, preset, suite and policy
  agentenvs play agentenvs/Sokoban-v0 preset=tiny       play it yourself
  agentenvs eval --suite quick --policy expert --out runs/quick
  agentenvs eval --suite core-v0 --policy chat:my-model@http://localhost:8000/v1 --out runs/my-model
  agentenvs submit runs/my-model --card card.toml
  agentenvs verify my-model.zip --into leaderboards
  agentenvs leaderboard leaderboards --suite core-v0
"""


class _Parser(argparse.ArgumentParser):
    """Names the nearest command, choice or option where a word is not known, and exits with USAGE."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        known = list(self._option_string_actions)
        for word in words[: words.index("--") if "--" in words else None]:
            name = word.partition("=")[0]
            if self._subparsers is not None and not word.startswith("-"):
                break  # what follows is the command's
            if name.startswith("--") and not any(option.startswith(name) for option in known):
                self.error(f"unknown option {quote(name)}{_nearest(name, known)}")
        return super().parse_known_args(words, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            kind = "command" if isinstance(action, argparse._SubParsersAction) else action.dest
            self.error(f"unknown {kind} {quote(value)}{_nearest(value, list(action.choices))}")

    def error(self, message: str) -> Any:
        self.exit(USAGE, f"agentenvs: {message}\nTry: {self.prog} --help\n")


def _nearest(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; mistakes of the user are printed without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character that the terminal lacks is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        code = options.handler(options) or OK
        if sys.stdout is not None:  # it is None where it was closed
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has what it wanted, e.g. `agentenvs list | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except VerificationError as error:
        print(f"refused: {error}", file=sys.stderr)
        return REFUSED
    except InfrastructureError as error:
        print(f"agentenvs: {error}", file=sys.stderr)
        return INFRASTRUCTURE
    except (AgentEnvsError, OSError) as error:
        print(f"agentenvs: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("agentenvs: interrupted; run the same command again to go on", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="agentenvs",
        description="Text environments for LLM agents: play, evaluate, submit, verify.",
        epilog=f"{_EXAMPLES}\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"agentenvs {agentenvs.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for add in (
        _add_list,
        _add_play,
        _add_eval,
        _add_compare,
        _add_decisions,
        _add_submit,
        _add_verify,
        _add_leaderboard,
        _add_data,
        _add_serve,
        _add_contract,
    ):
        add(commands)
    return parser


def _command(
    commands: Any, name: str, handler: Callable[[argparse.Namespace], int | None], about: str, example: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=about,
        description=about,
        epilog=f"example:\n  {example}\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(handler=handler)
    return command


# list ---------------------------------------------------------------------------------------------------------------


def _add_list(commands: Any) -> None:
    command = _command(commands, "list", _list, "List environments, suites and policies.", "agentenvs list --json")
    command.add_argument("--json", action="store_true", help="machine-readable")
    command.add_argument("--suites", action="store_true", help="suites only, with their entries")


def _list(options: argparse.Namespace) -> None:
    from agentenvs.evaluation.suite import load_suite, suite_names
    from agentenvs.policies.resolve import POLICIES
    from agentenvs.registration import ENTRIES

    suites = {name: load_suite(name) for name in suite_names()}
    if options.json:
        listed = {
            "environments": [{**entry._asdict(), "presets": entry.presets()} for entry in ENTRIES],
            "suites": {name: suite.description for name, suite in suites.items()},
        }
        print(json.dumps(listed, indent=2))
        return
    if not options.suites:
        print("environments")
        for entry in ENTRIES:
            print(f"  {entry.id:28} {entry.summary}\n{'':31}presets: {', '.join(entry.presets())}")
        print(f"\npolicies\n  {', '.join(POLICIES)}\n")
    print("suites")
    for name, suite in suites.items():
        print(f"  {name:28} {suite.description}")
        for entry in suite.entries if options.suites else ():
            print(f"      {entry.name:24} {entry.id} {json.dumps(entry.kwargs)}, {entry.split}, {entry.tasks or 'all'}")


# play ---------------------------------------------------------------------------------------------------------------


def _add_play(commands: Any) -> None:
    example = "agentenvs play agentenvs/Sokoban-v0 preset=tiny --seed 3"
    command = _command(commands, "play", _play, "Play an episode in the terminal.", example)
    command.add_argument("id", help="an environment id")
    command.add_argument("settings", nargs="*", metavar="NAME=VALUE", help="keyword arguments, values as JSON or text")
    command.add_argument("--policy", default="human", help="who plays (default: human)")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--split", default=None)
    command.add_argument("--protocol", action="store_true", help="in the published format of the preset")


def _play(options: argparse.Namespace) -> int:
    from agentenvs.rollout.collect import collect
    from agentenvs.rollout.job import Job, attributes_of

    kwargs = dict(map(_setting, options.settings))
    source, protocol = attributes_of(options.id, kwargs, "source", "protocol")
    split = options.split or source.splits[0]
    wrappers = protocol if options.protocol else ()
    job = Job(options.id, source.sample(split, options.seed).id, seed=options.seed, kwargs=kwargs, wrappers=wrappers)
    [trajectory] = collect(None, options.policy, [job], seed=options.seed)
    if options.policy != "human":
        for step in trajectory.steps:
            print(f"> {step.action}\n{step.observation}\n")
    elif trajectory.steps:
        print(trajectory.steps[-1].observation)
    print(
        f"{trajectory.end_reason}: score {trajectory.score:g}, reward {trajectory.total_reward:g}, "
        f"{trajectory.usage['steps']} steps"
    )
    return INFRASTRUCTURE if trajectory.end_reason == "void" else OK


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ConfigError(f"expected NAME=VALUE, got {text!r}")
    with contextlib.suppress(ValueError):
        return name, json.loads(value)
    return name, value


# eval ---------------------------------------------------------------------------------------------------------------


def _add_eval(commands: Any) -> None:
    example = "agentenvs eval --suite quick --policy expert --out runs/quick"
    about = "Run a policy over a suite. An interrupted run goes on where it was."
    command = _command(commands, "eval", _eval, about, example)
    command.add_argument("--suite", required=True, help="a name from `agentenvs list`, or a TOML file")
    command.add_argument("--policy", required=True, help="a name as `agentenvs list` shows them")
    command.add_argument("--out", help="result folder (default: runs/SUITE-POLICY)")
    command.add_argument("--episodes", type=int, help="only the first so many tasks of each entry")
    command.add_argument("--seed", type=int, default=0, help="run seed: chance and sampling (default 0)")
    command.add_argument("--backend", default="sync", help="sync or process (default sync)")
    command.add_argument("--num-envs", type=int, default=16, help="episodes in play at once (default 16)")


def _eval(options: argparse.Namespace) -> int:
    from agentenvs.evaluation.report import print_summary
    from agentenvs.evaluation.runner import evaluate, folder_name
    from agentenvs.evaluation.suite import load_suite
    from agentenvs.policies.resolve import make_policy, name_of

    suite, policy = load_suite(options.suite), make_policy(options.policy)
    out = Path(options.out or Path("runs") / folder_name(suite, policy))
    with _bar(f"{suite.name} · {name_of(policy)}") as advance:
        summary = evaluate(
            suite,
            policy,
            out,
            episodes=options.episodes,
            seed=options.seed,
            backend=options.backend,
            num_envs=options.num_envs,
            progress=lambda _, done, total: advance(done, total),
        )
    print_summary(summary)
    print(f"{out}/episodes.jsonl, {out}/summary.json")
    void = sum(entry["n_void"] for entry in summary["entries"].values())
    if void:
        print(f"agentenvs: {void} episodes are void after failures; run the same command to retry", file=sys.stderr)
    return INFRASTRUCTURE if void else OK


@contextlib.contextmanager
def _bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _add_compare(commands: Any) -> None:
    example = "agentenvs compare runs/core-v0-mine runs/core-v0-baseline"
    command = _command(commands, "compare", _compare, "Compare two runs over the same tasks, paired by task.", example)
    command.add_argument("a", help="a result folder of `agentenvs eval`")
    command.add_argument("b", help="another one")
    command.add_argument("--json", action="store_true", help="machine-readable")


def _compare(options: argparse.Namespace) -> None:
    from agentenvs.evaluation.compare import compare, name_of_run, print_comparison

    compared = compare(options.a, options.b)
    if options.json:
        print(json.dumps(compared, indent=2))
    else:
        print_comparison(name_of_run(options.a), name_of_run(options.b), compared)


def _add_decisions(commands: Any) -> None:
    example = "agentenvs decisions runs/adasearch-mine --closed-book runs/closed-book-mine"
    about = "How well a run decides whether to search: F1 against what the same policy knows closed-book."
    command = _command(commands, "decisions", _decisions, about, example)
    command.add_argument("run", help="a result folder of `agentenvs eval`")
    command.add_argument("--closed-book", required=True, help="the result folder of the same tasks without search")
    command.add_argument("--threshold", type=float, default=0.5, help="share of solved attempts that counts as known")
    command.add_argument("--json", action="store_true", help="machine-readable")


def _decisions(options: argparse.Namespace) -> None:
    from agentenvs.evaluation.compare import name_of_run
    from agentenvs.evaluation.decisions import decisions, print_decisions

    found = decisions(options.run, options.closed_book, options.threshold)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print_decisions(name_of_run(options.run), name_of_run(options.closed_book), found)


# submit, verify, leaderboard ----------------------------------------------------------------------------------------


def _add_submit(commands: Any) -> None:
    example = "agentenvs submit runs/quick-expert --card card.toml"
    command = _command(commands, "submit", _submit, "Bundle a finished run, and check that the bundle holds.", example)
    command.add_argument("run", help="a result folder of `agentenvs eval`")
    command.add_argument("--card", required=True, help="TOML file: name, policy, authors, date, ...")
    command.add_argument("--out", help="the bundle (default: NAME.zip)")


def _submit(options: argparse.Namespace) -> None:
    from agentenvs.leaderboard.bundle import write_bundle
    from agentenvs.leaderboard.card import load_card

    card = load_card(Path(options.card))
    out = write_bundle(Path(options.run), card, Path(options.out or f"{card.name}.zip"))
    try:
        _verified(out)
    except VerificationError:
        out.unlink(missing_ok=True)  # a bundle that does not hold is not left to be sent
        raise
    print(f"{out}: bundled and verified; send it with a pull request: agentenvs verify {out} --into leaderboards")


def _add_verify(commands: Any) -> None:
    example = "agentenvs verify my-model.zip --into leaderboards"
    command = _command(commands, "verify", _verify, "Play a submission again and compare every step.", example)
    command.add_argument("bundle", help="a bundle, or a submission's folder")
    command.add_argument("--into", help="put it into this folder of leaderboards if it holds")
    command.add_argument("--policy", help="also play the suite with this policy: it must give the same episodes")


def _verify(options: argparse.Namespace) -> None:
    from agentenvs.evaluation.report import print_summary
    from agentenvs.leaderboard.table import store

    if not Path(options.bundle).exists():
        raise ConfigError(f"there is no bundle {options.bundle}; make one with agentenvs submit")
    verified = _verified(Path(options.bundle), options.policy)
    print_summary(verified.summary)
    print(f"accepted: {verified.tier}")
    if options.into:
        print(f"stored in {store(verified, Path(options.into))}")


def _verified(path: Path, policy: str | None = None) -> Any:
    from agentenvs.leaderboard.verify import reproduce, verify

    with _bar("verifying") as advance:
        verified = verify(path, progress=advance)
    if policy is None:
        return verified
    with _bar("reproducing") as advance:
        return reproduce(verified, policy, progress=advance)


def _add_leaderboard(commands: Any) -> None:
    example = "agentenvs leaderboard leaderboards --suite core-v0"
    command = _command(commands, "leaderboard", _leaderboard, "Build the page and table of a leaderboard.", example)
    command.add_argument("root", nargs="?", default="leaderboards", help="folder of leaderboards")
    command.add_argument("--suite", help="only this one (default: all that lie there)")


def _leaderboard(options: argparse.Namespace) -> None:
    from agentenvs.leaderboard.table import build

    root = Path(options.root)
    found = sorted(folder.parent.name for folder in root.glob("*/submissions"))
    suites = [options.suite] if options.suite else found
    if not suites:
        raise ConfigError(f"no leaderboard in {root}; put a submission there: agentenvs verify FILE --into {root}")
    for suite in suites:
        for path in build(root, suite):
            print(path)


# data, contract -----------------------------------------------------------------------------------------------------


def _add_data(commands: Any) -> None:
    example = "agentenvs data get boxoban --from ~/boxoban-levels"
    command = _command(commands, "data", _data, "List official data, or get them into the cache.", example)
    command.add_argument("action", nargs="?", default="list", choices=("list", "get"))
    command.add_argument("name", nargs="?", help="a data set")
    command.add_argument("--from", dest="source", help="copy from a local folder instead of downloading")


def _data(options: argparse.Namespace) -> None:
    from agentenvs import datasets

    if options.action == "get":
        if options.name is None:
            raise ConfigError(f"data get: which? {', '.join(datasets.datasets())}")
        size = datasets.dataset(options.name).size
        with _bar(options.name) as advance:
            seen: dict[str, int] = {}

            def report(state: datasets.Progress) -> None:
                seen[state.path] = state.done
                advance(sum(seen.values()), size)

            place = datasets.get(options.name, source_dir=options.source, progress=report)
        print(place)
        return
    for name, dataset in datasets.datasets().items():
        place = datasets.find(name)
        print(f"{name:12} {dataset.version:12.12} {dataset.licence:12} {place or f'absent; agentenvs data get {name}'}")


def _add_serve(commands: Any) -> None:
    from agentenvs import serve as retriever

    retriever.add_arguments(_command(commands, "serve", retriever.serve, retriever.ABOUT, retriever.EXAMPLE))


def _add_contract(commands: Any) -> None:
    example = "agentenvs contract agentenvs/Sokoban-v0 preset=ragen"
    command = _command(commands, "contract", _contract, "Run the contract test on an environment.", example)
    command.add_argument("id", help="an environment id")
    command.add_argument("settings", nargs="*", metavar="NAME=VALUE", help="keyword arguments, values as JSON or text")


def _contract(options: argparse.Namespace) -> int:
    from agentenvs.rollout.job import Job, make_env
    from agentenvs.testing import check_contract

    kwargs = dict(map(_setting, options.settings))
    make_env(Job(options.id, "", kwargs=kwargs)).close()  # a wrong name or setting is no broken promise
    try:
        check_contract(options.id, **kwargs)
    except AssertionError as error:
        print(f"broken: {error}", file=sys.stderr)
        return REFUSED
    print(f"{options.id}: the contract holds")
    return OK


if __name__ == "__main__":
    sys.exit(main())
