import textwrap
from pathlib import Path

import pytest


class Repository:
    """A repository with test files, and trees with a `megatron` each."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.tests = self.root / "tests" / "unit_tests"
        self.tests.mkdir(parents=True)
        # As in the real one: a folder of this name that holds no code.
        (self.root / "megatron" / "core").mkdir(parents=True)

    def tree(self, name: str, core: str) -> Path:
        package = self.root.parent / name / "megatron" / "core"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(textwrap.dedent(core))
        return self.root.parent / name

    def write(self, name: str, text: str) -> Path:
        path = self.tests / name
        path.write_text(textwrap.dedent(text))
        return path

    def controls(self, *entries: str) -> None:
        (self.root / "tests" / "controls.txt").write_text("".join(f"{e}\n" for e in entries))


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)
