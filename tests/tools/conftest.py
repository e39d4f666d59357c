"""What every test of the tools stands on: git with no settings but these, and fixed dates."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test fails because the machine is busy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

CONFIG = """\
[user]
\tname = Ada Test
\temail = ada@example.org
[init]
\tdefaultBranch = main
[commit]
\tgpgsign = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""


@pytest.fixture(autouse=True)
def _isolated_git(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path_factory.mktemp("config") / "gitconfig"
    config.write_text(CONFIG)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-01-02T03:04:05+00:00")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05+00:00")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "tools"))
