"""Which Python files a git tree has below ``megatron/core``, through links."""

import subprocess

import pytest

from carry.scanned import python_blobs
from stack.errors import Refusal
from stack.repository import Repository

CORE = "megatron/core"


@pytest.fixture
def paths_in(tmp_path):
    """Gives the paths found in a tree with two files and some links, each with its text."""

    def find(links: dict[str, str]) -> dict[str, str]:
        for path, text in {f"{CORE}/a.py": "a", f"{CORE}/sub/b.py": "b", "other/c.py": "c"}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        for path, target in links.items():
            (tmp_path / path).symlink_to(target)
        for command in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "Start"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
        with Repository.open(tmp_path) as repository:
            blobs = python_blobs(repository, repository.resolve("HEAD"))
            return {path: repository.read_blob(blob).decode() for path, blob in blobs.items()}

    return find


PLAIN = {f"{CORE}/a.py": "a", f"{CORE}/sub/b.py": "b"}

LINKS = {
    "file": ({f"{CORE}/l.py": "sub/b.py"}, {f"{CORE}/l.py": "b"}),
    "file elsewhere": ({f"{CORE}/l.py": "../../other/c.py"}, {f"{CORE}/l.py": "c"}),
    "folder": ({f"{CORE}/l": "../../other"}, {f"{CORE}/l/c.py": "c"}),
    "link to a link": (
        {f"{CORE}/l.py": "k.py", f"{CORE}/k.py": "a.py"},
        {f"{CORE}/l.py": "a", f"{CORE}/k.py": "a"},
    ),
    "folder around it": ({f"{CORE}/sub/l": ".."}, {}),
    "text": ({f"{CORE}/l.md": "nowhere.md"}, {}),
}


@pytest.mark.parametrize("case", LINKS)
def test_links_are_followed(case, paths_in):
    links, found = LINKS[case]
    assert paths_in(links) == PLAIN | found


BROKEN = {
    "file": {f"{CORE}/l.py": "gone.py"},
    "folder": {f"{CORE}/l": "gone"},
    "outside": {f"{CORE}/l": "/usr"},
    "in a circle": {f"{CORE}/l": "k", f"{CORE}/k": "l"},
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_link_that_leads_nowhere_is_named(case, paths_in):
    with pytest.raises(Refusal) as refusal:
        paths_in(BROKEN[case])
    path = min(BROKEN[case])
    assert str(refusal.value) == f"{path}: is a link that leads to no file or folder of the tree"


def test_a_submodule_is_named(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    entry = f"160000,{'1' * 40},{CORE}/module"
    for command in (["update-index", "--add", "--cacheinfo", entry], ["commit", "-qm", "Start"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    with Repository.open(tmp_path) as repository, pytest.raises(Refusal) as refusal:
        python_blobs(repository, head := repository.resolve("HEAD"))
    assert str(refusal.value) == (
        f"{CORE}/module: is a submodule, whose files cannot be scanned in {head[:12]}"
    )
