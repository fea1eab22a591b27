"""A folder in which the blocks of the guide are carried out as a reader would.

Packages that a page installs go to a folder of their own beside it, so that the environment which
runs the tests stays as it is: `pip` is told by its variables, Python by ``PYTHONPATH``.
"""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path

from doc_blocks import Block, commands

LONGEST_SECONDS = 300
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

RUN_EXAMPLES = """
import doctest, sys
from pathlib import Path
text = Path(sys.argv[1]).read_text("utf-8")
examples = doctest.DocTestParser().get_doctest(text, {}, "block", None, 0)
runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
runner.run(examples)
sys.exit(bool(runner.failures))
"""


class Workshop:
    """Carries out blocks: writes files, runs commands, runs examples.

    Attributes:
        folder: where the page's commands run and its files are written.
    """

    def __init__(self, root: Path, examples: Path) -> None:
        """Make the folders below ``root``; a checkout's ``examples`` are at hand in it."""
        self._scratch = root / "blocks"
        self._site = root / "site"
        self.folder = root / "work"
        for folder in (self._scratch, self._site, self.folder):
            folder.mkdir()
        (self.folder / "examples").symlink_to(examples, target_is_directory=True)
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
        } | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self._site),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HEADRACE_STATE": str(root / "state"),
            "COLUMNS": "100",
            "NO_COLOR": "1",
            # Installs go to the folder above, from what is here; nothing is fetched.
            "PIP_TARGET": str(self._site),
            "PIP_UPGRADE": "1",
            "PIP_NO_DEPS": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as the value of `--build-isolation`
            "PIP_NO_INDEX": "1",
            "PIP_QUIET": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
        }

    def carry_out(self, block: Block, page: str) -> None:
        """Do what a reader does with ``block`` of ``page``.

        ``file=PATH`` after the language writes it there. Of a ``console`` block each command runs,
        and must print what the page says below it; it ends with code 0, or with the ``exit=N`` that
        is noted for the last one. A ``python`` block runs: as examples where it has ``>>>``.

        Raises:
            AssertionError: something else came of it; says what.
        """
        notes = dict(word.split("=", 1) for word in block.note.split() if "=" in word)
        if "file" in notes:
            path = self.folder / notes["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        elif block.language == "console":
            self._run_commands(block, page, int(notes.get("exit", 0)))
        elif block.language == "python":
            self._run_python(block, page)
        else:
            raise AssertionError(f"{page}:{block.line}: nobody can carry out {block.language!r}")

    def _run_commands(self, block: Block, page: str, last_code: int) -> None:
        given = list(commands(block))
        assert given, f"{page}:{block.line}: a console block without a command"
        for index, (line, command, expected) in enumerate(given):
            where = f"{page}:{line}: $ {command}"
            done = self._call(["bash", "-c", command])
            wanted = last_code if index == len(given) - 1 else 0
            assert done.returncode == wanted, f"{where}\nexit code {done.returncode}\n{done.stdout}"
            if expected.strip():
                same = doctest.OutputChecker().check_output(f"{expected}\n", done.stdout, SAME)
                assert same, f"{where}\nprints\n{done.stdout}\nand not\n{expected}"

    def _run_python(self, block: Block, page: str) -> None:
        file = self._scratch / f"line{block.line}.py"
        file.write_text(block.text, "utf-8")
        command = ["-c", RUN_EXAMPLES, str(file)] if ">>>" in block.text else [str(file)]
        done = self._call([sys.executable, *command])
        assert done.returncode == 0, f"{page}:{block.line}:\n{done.stdout}"

    def _call(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
