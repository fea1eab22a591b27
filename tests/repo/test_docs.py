"""What the documentation shows, works: its Python runs, its commands and its links exist.

Every `python` block of README.md and docs/*.md runs, in order, one namespace for each file, in an
empty folder: as a doctest where it has `>>>`, else as a program. A block that cannot run here says
so in its opening line, after the language: `no-run: why`. Of `console` blocks the `headrace` and
`tox` commands are checked for existence: subcommand, options, labels, environments.
"""

from __future__ import annotations

import configparser
import doctest
import itertools
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from doc_blocks import FENCE, Block, blocks, commands

ROOT = Path(__file__).resolve().parents[2]
READMES = ("bench", "changelog.d", "core", "plugins", "tests")
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(page for folder in READMES for page in sorted((ROOT / folder).rglob("README.md"))),
    ROOT / "README.md",
]
# What the guide shows is carried out, commands and all, by tests/guide; a plugin's README by its
# own tests.
RUN_HERE = [
    page for page in PAGES if not {ROOT / "docs/guide", ROOT / "plugins"} & set(page.parents)
]
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_doctest(block: Block, page: str, namespace: dict[str, object]) -> None:
    examples = doctest.DocTestParser().get_doctest(block.text, namespace, page, page, block.line)
    examples.globs = namespace  # shared: a later block sees the names of an earlier one
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(examples, out=output.append, clear_globs=False)
    assert runner.failures == 0, "".join(output)


@pytest.mark.parametrize("page", RUN_HERE, ids=name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who copies the blocks of a page from top to bottom gets what the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_STATE", str(tmp_path / "state"))
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        if block.note.startswith("no-run:"):
            assert block.note.removeprefix("no-run:").strip(), f"{name(page)}:{block.line}: say why"
        elif ">>>" in block.text:
            run_doctest(block, name(page), namespace)
        else:
            padding = "\n" * block.line  # so that a traceback shows the line of the page
            exec(compile(padding + block.text, name(page), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_is_a_block(page: Path) -> None:
    """No block hides inside another: there are as many as there are opening lines."""
    text = page.read_text("utf-8")
    assert 2 * len(FENCE.findall(text)) == len(re.findall(r"^```", text, re.MULTILINE))


def modules_with_examples() -> list[str]:
    """Modules of core and plugins, as installed, whose source holds a docstring example."""
    found = []
    for package in ("headrace", "headrace_cpu", "headrace_fakedevice"):
        root = Path(import_module(package).__path__[0])
        for path in sorted(root.rglob("*.py")):
            if ">>> " in path.read_text("utf-8"):
                parts = path.relative_to(root.parent).with_suffix("").parts
                found.append(".".join(parts).removesuffix(".__init__"))
    return found


@pytest.mark.parametrize("module", modules_with_examples())
def test_docstring_examples_run(module: str) -> None:
    """The examples of a module's docstrings give what they say."""
    result = doctest.testmod(
        import_module(module), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted
    assert not result.failed


def shown_commands(program: str) -> list[tuple[str, list[str]]]:
    """(where, words) of every command line of `program` in the console blocks of all pages."""
    found = []
    for page in PAGES:
        for block in blocks(page, "console"):
            for line, command, _ in commands(block):
                for part in re.split(r"&&|\|\||;|(?<!\|)\|(?!\|)", command.replace("\\\n", " ")):
                    words = shlex.split(part, comments=True)
                    if words[:1] == [program]:
                        found.append((f"{name(page)}:{line}", words[1:]))
    return found


def test_headrace_commands_exist() -> None:
    """Every subcommand and option that a page shows is one that the command has."""
    import click

    from headrace import cli

    for where, words in shown_commands("headrace"):
        command: click.Command = cli.main
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            assert words[0] in command.commands, f"{where}: headrace has no command {words[0]!r}"
            command, words = command.commands[words[0]], words[1:]
        options = {option for parameter in command.params for option in parameter.opts}
        used = {word.partition("=")[0] for word in words if word.startswith("-")}
        assert used - options - {"--help", "--version"} == set(), where


def test_tox_commands_exist() -> None:
    """Every label and environment that a page shows is in tox.ini."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", "utf-8")
    labels = {line.split(" = ")[0] for line in tox["tox"]["labels"].strip().splitlines()}
    sections = " ".join(tox.sections())
    shown = shown_commands("tox")
    assert shown
    for where, words in shown:
        for option, value in itertools.pairwise(words):
            if option == "-m":
                assert value in labels, f"{where}: tox.ini has no label {value!r}"
            if option == "-e":
                for environment in value.split(","):
                    last_factor = environment.split("-")[-1]
                    assert re.search(rf"\b{last_factor}\b", sections), f"{where}: {environment}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    """Files and headings of this repository; addresses elsewhere are not tried."""
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize(
    ("text", "passes"),
    [(">>> 1 + 1\n2\n", True), (">>> 1 + 1\n3\n", False), (">>> 1 / 0\n", False)],
)
def test_a_wrong_example_is_found(text: str, passes: bool) -> None:
    """And the closing fence is not taken for expected output."""
    block = Block("python", "", text, 1)
    if passes:
        run_doctest(block, "page", {})
    else:
        with pytest.raises(AssertionError):
            run_doctest(block, "page", {})
