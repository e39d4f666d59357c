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
    "through a linked folder": (
        {f"{CORE}/l.py": "k/c.py", f"{CORE}/k": "../../other"},
        {f"{CORE}/l.py": "c", f"{CORE}/k/c.py": "c"},
    ),
    "folder around it": ({f"{CORE}/sub/l": ".."}, {}),
    "text": ({f"{CORE}/l.md": "nowhere.md"}, {}),
}


@pytest.mark.parametrize("case", LINKS)
def test_links_are_followed(case, paths_in):
    links, found = LINKS[case]
    assert paths_in(links) == PLAIN | found


NOWHERE = {
    "file": {f"{CORE}/l.py": "gone.py"},
    "folder": {f"{CORE}/l": "gone"},
    "in a circle": {f"{CORE}/l.py": "k.py", f"{CORE}/k.py": "l.py"},
    "through a file": {f"{CORE}/l.py": "a.py/b.py"},
    "lock of an editor": {f"{CORE}/.#a.py": "somebody@host.1234:5678"},
}


@pytest.mark.parametrize("case", NOWHERE)
def test_a_link_that_leads_nowhere_brings_nothing(case, paths_in):
    assert paths_in(NOWHERE[case]) == PLAIN


OUTSIDE = {
    "folder": {f"{CORE}/l": "/usr"},
    "file": {f"{CORE}/l.py": "/etc/other.py"},
    "relative": {f"{CORE}/l.py": "../../../other.py"},
    "by another link": {f"{CORE}/l.py": "k/other.py", f"{CORE}/k": "/usr"},
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_a_link_out_of_the_tree_is_named(case, paths_in):
    with pytest.raises(Refusal) as refusal:
        paths_in(OUTSIDE[case])
    assert "is a link out of the tree, to what cannot be scanned" in str(refusal.value)
    assert str(refusal.value).startswith(f"{CORE}/")


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


def test_a_link_into_a_submodule_is_named(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / CORE).mkdir(parents=True)
    (tmp_path / CORE / "l").symlink_to("../../module/inner")
    entry = f"160000,{'1' * 40},module"
    for command in (
        ["add", "--all"],
        ["update-index", "--add", "--cacheinfo", entry],
        ["commit", "-qm", "Start"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    with Repository.open(tmp_path) as repository, pytest.raises(Refusal) as refusal:
        python_blobs(repository, repository.resolve("HEAD"))
    assert str(refusal.value) == (
        f"{CORE}/l: is a link into a submodule, whose files cannot be scanned"
    )
