"""What a merged file imports in real trees: what is gone and what is there, and in which order."""

import pytest

from merge_series.import_merge import merge_imports
from merge_series.import_order import in_order
from merge_series.import_statements import NotSettled
from merge_series.import_targets import Targets
from stack.git_answers import Entry
from stack.merging import BASE, OURS, THEIRS, merge_trees
from stack.repository import Repository

FILE = "pkg/m.py"
BASE_TEXT = "from pkg.utils import x\n\nprint(x)\n"
MORE_TEXT = "from pkg.utils import k, x\n\nprint(x, k)\n"
OTHER_TEXT = "import os\nfrom pkg.utils import x\n\nprint(x)\n"
UTILS = "x = 1\nk = 2\n"


class Merging:
    """Merges two sides of a tree, either way round."""

    def __init__(self, repository):
        self._repository = repository

    def __call__(self, base, ours, theirs):
        """The end of each file in conflict: its text, or why it is for a person."""
        start = self._commit(None, base, [])
        tree = self._repository.tree_of(start)
        one, other = (self._commit(tree, side, [start]) for side in (ours, theirs))
        ends = self._ends(one, other)
        assert ends == self._ends(other, one)
        return ends

    def _commit(self, tree, changes, parents):
        entries = {path: self._entry(text) for path, text in changes.items()}
        tree = self._repository.change_tree(tree, entries)
        return self._repository.commit_tree(tree, parents, "Change")

    def _entry(self, text):
        mode, text = text if isinstance(text, tuple) else ("100644", text)
        if text is None:
            return None
        (oid,) = [text] if mode == "160000" else self._repository.write_blobs([text.encode()])
        return Entry(mode, oid)

    def _ends(self, ours, theirs):
        merge = merge_trees(self._repository, ours, theirs)
        targets = Targets(self._repository, ours, theirs, merge)
        return {c.path: self._end(merge, targets, c) for c in merge.conflicts if c.is_content}

    def _end(self, merge, targets, conflict):
        oids = (conflict.stages[stage].oid for stage in (BASE, OURS, THEIRS))
        texts = [self._repository.read_blob(oid) for oid in oids]
        try:
            merged = merge_imports(*texts)
            merged = in_order(self._repository, merge, conflict.path, texts, merged)
            targets.check(conflict, texts, merged)
        except NotSettled as reason:
            return str(reason)
        return merged.text("O", "T").decode()


@pytest.fixture
def merge(tmp_path, monkeypatch):
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.org")
    with Repository.create(tmp_path / "repository", "main") as repository:
        yield Merging(repository)


def of(base=None, ours=None, theirs=None):
    """The three texts of ``pkg/m.py`` and of other files, as a merge of three trees takes them."""
    return (
        {FILE: BASE_TEXT, "pkg/__init__.py": "", "pkg/utils.py": UTILS} | (base or {}),
        {FILE: MORE_TEXT} | (ours or {}),
        {FILE: OTHER_TEXT} | (theirs or {}),
    )


SETTLED = "import os\nfrom pkg.utils import k, x\n\nprint(x, k)\n"
NO_UTILS = "the merged tree has no module pkg.utils, which it would import"
NO_K = "pkg.utils of the merged tree has no k, which it would import"
FROM_COMMON = "from pkg.common import x\n\nprint(x)\n"
STAR = {"pkg/utils.py": "from .deep import *\n", "pkg/deep.py": UTILS}
CHECKS = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from pkg.utils import {}\n"
CHECKED = CHECKS.replace("utils", "common").format("k") + "x = 1\n"
LAZY = "def __getattr__(name):\n    if name in {}:\n        return 1\n    raise AttributeError\n"

GONE = {
    "a module that moved": (
        of(theirs={FILE: FROM_COMMON, "pkg/utils.py": None, "pkg/common.py": UTILS}),
        f"{NO_UTILS}; it moved to pkg.common",
    ),
    "a module that was rewritten elsewhere": (
        of(theirs={FILE: FROM_COMMON, "pkg/utils.py": None, "pkg/common.py": "x = [3]\n"}),
        NO_UTILS,
    ),
    "a module that moved, its package staying as a folder": (
        of(
            base={"pkg/utils.py": None, "pkg/utils/__init__.py": UTILS, "pkg/utils/text": "1\n"},
            theirs={
                FILE: FROM_COMMON,
                "pkg/utils/__init__.py": None,
                "pkg/common.py": UTILS,
            },
        ),
        f"{NO_K}; pkg.common has it",
    ),
    "a name that moved": (
        of(theirs={"pkg/utils.py": "x = 1\n", "pkg/common.py": "k = 2\n"}),
        f"{NO_K}; pkg.common has it",
    ),
    "a name that moved in its package": (
        of(
            base={"pkg/utils.py": "x = 1\n\n\ndef k(): pass\n"},
            theirs={"pkg/utils.py": "x = 1\n", "pkg/sub/common.py": "def k(): pass\n"},
        ),
        f"{NO_K}; pkg.sub.common has it",
    ),
    "a name that was renamed": (
        of(theirs={"pkg/utils.py": "x = 1\nkk = 2\n"}),
        NO_K,
    ),
    "a name that came by a star": (
        of(
            base={
                "pkg/utils.py": "from pkg.deep import *\nfrom .deep import x\n",
                "pkg/deep.py": UTILS,
            },
            theirs={"pkg/deep.py": "x = 1\n"},
        ),
        NO_K,
    ),
    "a name of a file that is in conflict itself": (
        of(
            base={"pkg/utils.py": "x = 1\nk = 2\ny = 3\n"},
            ours={"pkg/utils.py": "x = 5\nk = 2\ny = 4\n"},
            theirs={"pkg/utils.py": "x = 6\ny = 3\n"},
        ),
        NO_K,
    ),
    "a module that one side removed and the other changed": (
        of(
            ours={"pkg/utils.py": "x = 1\nk = 3\n"},
            theirs={FILE: FROM_COMMON, "pkg/utils.py": None, "pkg/common.py": "x = [3]\n"},
        ),
        NO_UTILS,
    ),
    "a name that is deleted": (of(theirs={"pkg/utils.py": UTILS + "del k\n"}), NO_K),
    "a name of a comprehension": (
        of(theirs={"pkg/utils.py": "x = [k for k in range(3)]\n"}),
        NO_K,
    ),
    "a name of what is caught": (
        of(theirs={"pkg/utils.py": "try:\n    x = 1\nexcept OSError as k:\n    x = 2\n"}),
        NO_K,
    ),
    "a name that is annotated alone": (of(theirs={"pkg/utils.py": "x = 1\nk: int\n"}), NO_K),
    "a name that is there for type checkers alone": (
        of(theirs={"pkg/utils.py": CHECKED, "pkg/common.py": "k = 2\n"}),
        f"{NO_K}; pkg.common has it",
    ),
    "a name for type checkers": (
        of(
            base={FILE: CHECKS.format("x"), "pkg/utils.py": CHECKED, "pkg/common.py": UTILS},
            ours={FILE: CHECKS.format("k, x")},
            theirs={FILE: CHECKS.format("x, x as y"), "pkg/utils.py": "x = 1\n"},
        ),
        NO_K,
    ),
    "a name that comes by a star which does not take it": (
        of(theirs=STAR | {"pkg/deep.py": "__all__ = ['x']\n" + UTILS}),
        f"{NO_K}; pkg.deep has it",
    ),
    "a name that comes by no star, as it is private": (
        of(
            base={FILE: "from pkg.utils import x\n", "pkg/utils.py": "_k = 2\nx = 1\n"},
            ours={FILE: "from pkg.utils import _k, x\n"},
            theirs={
                FILE: "import os\nfrom pkg.utils import x\n",
                "pkg/utils.py": "from pkg.deep import *\n",
                "pkg/deep.py": "_k = 2\nx = 1\n",
            },
        ),
        "pkg.utils of the merged tree has no _k, which it would import; pkg.deep has it",
    ),
    "a name of which a module that answers by a function no longer speaks": (
        of(
            base={"pkg/utils.py": LAZY.format(["k", "x"])},
            theirs={"pkg/utils.py": LAZY.format(["x"])},
        ),
        NO_K,
    ),
    "a name of which a module with a star of another project no longer speaks": (
        of(theirs={"pkg/utils.py": "from torch import *\nx = 1\n"}),
        NO_K,
    ),
    "a name of which a module that does not compile no longer speaks": (
        of(theirs={"pkg/utils.py": "x = = 1\n"}),
        NO_K,
    ),
    "a module taken from its package": (
        of(
            base={FILE: "from pkg import x\n"},
            ours={FILE: "from pkg import utils, x\n"},
            theirs={FILE: "from pkg import x, y\n", "pkg/utils.py": None, "pkg/common.py": UTILS},
        ),
        "pkg of the merged tree has no utils, which it would import",
    ),
    "a plain import": (
        of(
            base={FILE: "import os\n\nprint(os)\n"},
            ours={FILE: "import os\nimport pkg.utils\n\nprint(os, pkg.utils.k)\n"},
            theirs={
                FILE: "import os\nimport re\n\nprint(os)\n",
                "pkg/utils.py": None,
                "pkg/common.py": UTILS,
            },
        ),
        f"{NO_UTILS}; it moved to pkg.common",
    ),
    "a relative import": (
        of(
            base={FILE: "from .utils import x\n"},
            ours={FILE: "from .utils import k, x\n"},
            theirs={FILE: "from .common import x\n", "pkg/utils.py": None, "pkg/common.py": UTILS},
        ),
        f"{NO_UTILS}; it moved to pkg.common",
    ),
    "an import that git merged cleanly beside the conflict": (
        of(
            base={FILE: BASE_TEXT + "\n\ndef f():\n    pass\n"},
            ours={FILE: "import re\n" + BASE_TEXT + "\n\ndef f():\n    from pkg.utils import k\n"},
            theirs={
                FILE: "import os\n" + BASE_TEXT + "\n\ndef f():\n    pass\n",
                "pkg/utils.py": "x = 1\n",
            },
        ),
        NO_K,
    ),
    "an import beside a conflict of code": (
        of(
            ours={FILE: MORE_TEXT.replace("print(x, k)", "print(k)")},
            theirs={FILE: OTHER_TEXT.replace("print(x)", "print(os)"), "pkg/utils.py": "x = 1\n"},
        ),
        NO_K,
    ),
    "a module beside a script": (
        of(
            base={"tools/run.py": "import os\n", "tools/helper.py": UTILS},
            ours={FILE: BASE_TEXT, "tools/run.py": "import os\nimport helper\n"},
            theirs={
                FILE: BASE_TEXT,
                "tools/run.py": "import os\nimport re\n",
                "tools/helper.py": None,
                "helpers/helper.py": UTILS,
            },
        ),
        "the merged tree has no module helper, which it would import; it moved to helpers.helper",
    ),
    "a module under a folder of sources": (
        of(
            base={"src/lib/__init__.py": "", "src/lib/utils.py": UTILS, FILE: "import os\n"},
            ours={FILE: "import os\nimport lib.utils\n"},
            theirs={
                FILE: "import os\nimport re\n",
                "src/lib/utils.py": None,
                "src/lib/common.py": UTILS,
            },
        ),
        "the merged tree has no module lib.utils, which it would import; it moved to lib.common",
    ),
    "a relative import in a file that moved": (
        (
            {FILE: "from .utils import x\n" + UTILS * 9, "pkg/utils.py": UTILS},
            {FILE: "from .utils import k, x\n" + UTILS * 9},
            {FILE: None, "pkg/sub/m.py": "from ..utils import x\n" + UTILS * 9},
        ),
        "the merged tree has no module pkg.utils, which it would import",
    ),
    "a relative import in a file that moved beside another module of the name": (
        (
            {
                FILE: "from .utils import x\n" + UTILS * 9,
                "pkg/utils.py": UTILS,
                "pkg/sub/utils.py": UTILS,
            },
            {FILE: "from .utils import k, x\n" + UTILS * 9},
            {FILE: None, "pkg/sub/m.py": "from ..utils import x\n" + UTILS * 9},
        ),
        ".utils would be pkg.sub.utils and is pkg.utils",
    ),
}


@pytest.mark.parametrize("name", GONE)
def test_what_is_gone_from_the_merged_tree_is_for_a_person(name, merge):
    trees, why = GONE[name]
    assert why in merge(*trees).values()


SUBMODULE = ("160000", "a" * 40)
BINDINGS = """\
for a in range(3):
    print([b := a, lambda: (c := 1)])
with open("x") as c:
    del a
    a = 1
match c:
    case [d, *e]:
        x: int = 1
"""

THERE = {
    "what did not change": of(),
    "a module that became a package": of(
        theirs={"pkg/utils.py": None, "pkg/utils/__init__.py": UTILS}
    ),
    "a name that its module imports from where it went": of(
        theirs={"pkg/utils.py": "from pkg.common import k, x\n", "pkg/common.py": UTILS}
    ),
    "a name that became a module": of(
        theirs={"pkg/utils.py": None, "pkg/utils/__init__.py": "x = 1\n", "pkg/utils/k.py": ""}
    ),
    "a name that is bound on some path alone": of(
        theirs={"pkg/utils.py": "x = 1\ntry:\n    import k\nexcept ImportError:\n    k = None\n"}
    ),
    "a name that a function binds": of(
        theirs={"pkg/utils.py": "x = 1\n\n\ndef load():\n    global k\n    k = 1\n"}
    ),
    "a name that comes by a star": of(theirs=STAR),
    "a name that comes by stars that go round": of(
        theirs=STAR
        | {"pkg/deep.py": "from pkg.utils import *\nfrom .last import *\n", "pkg/last.py": UTILS}
    ),
    "a name that a star takes": of(theirs=STAR | {"pkg/deep.py": "__all__ = ['k', 'x']\n" + UTILS}),
    "a name that a star may take": of(
        theirs=STAR | {"pkg/deep.py": "__all__ = [*map(str, range(3))]\n" + UTILS}
    ),
    "a name that may come by a star of another project": of(
        theirs={"pkg/utils.py": "from torch import *\nx = 1\n__all__ = ['k', 'x']\n"}
    ),
    "a name of which a module that answers by a function speaks": of(
        base={"pkg/utils.py": LAZY.format(["k", "x"])},
        theirs={"pkg/utils.py": LAZY.format(["k", "x", "y"])},
    ),
    "a name of which a module that answers for any name never spoke": of(
        base={"pkg/utils.py": LAZY.format("MANY")}, theirs={"pkg/utils.py": LAZY.format("MORE")}
    ),
    "a module that binds names by others": of(
        theirs={"pkg/utils.py": "x = 1\nglobals().update(k=1)\n"}
    ),
    "a name that comes by a star of a module that binds names by others": of(
        theirs=STAR | {"pkg/deep.py": "x = 1\nglobals().update(k=1)\n"}
    ),
    "a module that does not compile": of(theirs={"pkg/utils.py": "x = = 1\nk = 2\n"}),
    "a name for type checkers": of(
        base={FILE: CHECKS.format("x")},
        ours={FILE: CHECKS.format("k, x")},
        theirs={FILE: CHECKS.format("x, x as y"), "pkg/utils.py": CHECKED, "pkg/common.py": UTILS},
    ),
    "names that are bound in other ways": of(
        base={FILE: "from pkg.utils import x\n", "pkg/utils.py": "a = b = c = d = e = x = 1\n"},
        ours={FILE: "from pkg.utils import a, b, c, d, e, x\n"},
        theirs={FILE: "import os\nfrom pkg.utils import x\n", "pkg/utils.py": BINDINGS},
    ),
    "a name that a stub declares": of(
        base={"pkg/utils.py": None, "pkg/utils.so": "1", "pkg/utils.pyi": "k: int\nx: int\n"},
        theirs={"pkg/utils.pyi": "k: float\nx: int\n"},
    ),
    "a module that became a link": of(theirs={"pkg/utils.py": ("120000", "common.py")}),
    "a module that came to be compiled": of(
        theirs={"pkg/utils.py": None, "pkg/utils.cpython-312-x86_64-linux-gnu.so": "1"}
    ),
    "a module of another project that a submodule may hold": of(
        base={FILE: "import os\n", "lib/a.py": ""},
        ours={FILE: "import os\nimport lib.a\n"},
        theirs={FILE: "import os\nimport re\n", "lib/a.py": None, "lib": SUBMODULE},
    ),
    "a module of another project": of(
        base={FILE: "import os\n"},
        ours={FILE: "import os\nfrom torch import gone\n"},
        theirs={FILE: "import os\nimport re\n"},
    ),
    "what was not there on the side that imports it": of(
        base={"pkg/utils.py": "x = 1\n"}, theirs={"pkg/utils.py": "x = 2\n"}
    ),
    "a module that was not there on the side that imports it": of(
        base={FILE: "from pkg import x\n"},
        ours={FILE: "from pkg import x\nimport pkg.gone\n"},
        theirs={FILE: "from pkg import x\nimport os\n", "pkg/utils.py": None},
    ),
    "what is gone on a side that goes on importing it": of(
        base={FILE: MORE_TEXT},
        ours={FILE: "import re\n" + MORE_TEXT},
        theirs={FILE: "import os\n" + MORE_TEXT, "pkg/utils.py": "x = 1\n"},
    ),
    "a relative import in a file whose package moved": (
        {FILE: "from .utils import x\n" + UTILS * 9, "pkg/utils.py": UTILS * 9},
        {FILE: "from .utils import k, x\n" + UTILS * 9},
        {
            FILE: None,
            "pkg/utils.py": None,
            "new/m.py": "import os\nfrom .utils import x\n" + UTILS * 9,
            "new/utils.py": UTILS * 9,
        },
    ),
    "names that every module has": of(
        base={FILE: "from pkg.utils import __name__, x\n"},
        ours={FILE: "from pkg.utils import __name__, k, x\n"},
        theirs={FILE: "import os\nfrom pkg.utils import __name__, x\n", "pkg/utils.py": UTILS * 2},
    ),
}


@pytest.mark.parametrize("name", THERE)
def test_what_may_be_there_is_no_matter(name, merge):
    ends = merge(*THERE[name])
    assert ends
    assert all(text.startswith(("import", "from")) for text in ends.values())


DROPPED = "one side dropped k, which {} takes from here"
USER = "pkg/user.py"

TAKEN = {
    "by name": {USER: "from pkg.m import k\n"},
    "by another name": {USER: "from .m import (\n    x,\n    k as key,\n)\n"},
    "as an attribute": {USER: "from pkg import m\n\nprint(m.k)\n"},
    "as an attribute of one of several modules": {
        USER: "from . import (\n    m,\n    utils,\n)\n\nprint(m.k)\n"
    },
    "as an attribute of a module with its package": {USER: "import pkg.m\n\nprint(pkg.m.k)\n"},
    "as an attribute of a module beside it": {USER: "import m\n\nprint(m.k)\n"},
    "in a function": {USER: "def f():\n    from .m import k\n"},
    "by a star": {USER: "from pkg.m import *\n\nprint(k)\n"},
    "by a star of its package": {
        "pkg/__init__.py": "from .m import *\n",
        USER: "from . import k\n",
    },
}


def reexporting(files=None, *, before=None, after=None):
    """One side drops a name that it does not use, beside what the other side imports anew."""
    text = "from pkg.utils import k, x\n\nprint(x)\n"
    base = {FILE: text, "pkg/__init__.py": "", "pkg/utils.py": UTILS}
    return (
        base | (before or {}),
        {FILE: "import re\n" + text} | (files or {}),
        {FILE: "import os\n" + text.replace("k, ", "")} | (after or {}),
    )


@pytest.mark.parametrize("name", TAKEN)
def test_a_name_that_one_side_drops_and_another_file_takes(name, merge):
    assert merge(*reexporting(TAKEN[name]))[FILE] == DROPPED.format(USER)


def test_a_name_that_another_file_in_conflict_takes(merge):
    trees = reexporting(
        {USER: "from pkg.m import k\nX = 2\n"}, before={USER: "X = 1\n"}, after={USER: "X = 3\n"}
    )
    assert merge(*trees)[FILE] == DROPPED.format(USER)


NOT_TAKEN = {
    "where it comes from": reexporting({USER: "from pkg.utils import k\n"}),
    "another name": reexporting({USER: "from pkg.m import x\n\nk = x\n"}),
    "an attribute of another module": reexporting({USER: "from pkg import utils as m\n\nm.k\n"}),
    "by a file that the side which drops it left as it was": reexporting(
        before={USER: "from pkg.m import k\n"}
    ),
    "by a file in conflict that no longer does": reexporting(
        {USER: "from pkg.m import k\nX = 2\n"},
        before={USER: "from pkg.m import k\nX = 1\n"},
        after={USER: "from pkg.utils import k\nX = 3\n"},
    ),
}


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_a_name_that_one_side_drops_and_no_other_file_takes(name, merge):
    settled = "import os\nimport re\nfrom pkg.utils import x\n\nprint(x)\n"
    assert merge(*NOT_TAKEN[name])[FILE] == settled


def test_a_module_of_a_package_that_one_side_no_longer_imports_in_it(merge):
    package, text = "pkg/__init__.py", "from . import deep, utils\n\nprint(utils)\n"
    end = merge(
        {package: text, "pkg/utils.py": "", "pkg/deep.py": ""},
        {package: "import re\n" + text, USER: "from pkg import deep\n"},
        {package: "import os\n" + text.replace("deep, ", "")},
    )[package]
    assert end == "import os\nimport re\nfrom . import utils\n\nprint(utils)\n"


ALIAS = "import os\nimport numpy as np\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n"


def uses(*used, old="import numpy as np", new=""):
    """``ALIAS`` with uses in ``g``, and with another import in place of one."""
    text = ALIAS.replace(old, new or old).removesuffix("    pass\n")
    return text + "".join(f"    {use}\n" for use in used or ("pass",))


REPOINTED = {
    "an alias": (uses("np.a()"), uses(new="import jax.numpy as np")),
    "an alias that is used more often": (
        uses("np.a()", "np.b()"),
        uses("np.a()", new="import jax.numpy as np"),
    ),
    "an alias of one name of two": (uses("np.a()"), uses(new="from numpy import linalg as np")),
    "a name from elsewhere": (uses("np.a()"), uses(new="from cupy import np")),
    "a name of which there is a second form": (
        uses("np.a()"),
        uses(new="import numpy as np\ntry:\n    import cupy as np\nexcept OSError:\n    pass"),
    ),
    "a name that is assigned anew": (uses("np.a()"), uses(new="import numpy\nnp = numpy.core")),
    "a name in a string for type checkers": (
        uses("v: 'list[np.a]' = []"),
        uses(new="import jax.numpy as np"),
    ),
}
DIFFERENT = "one side imports np from elsewhere and the other uses it anew"


@pytest.mark.parametrize("name", REPOINTED)
def test_a_name_that_one_side_imports_from_elsewhere_and_the_other_uses_anew(name, merge):
    user, mover = (
        text.replace("import os\n", f"import os\nimport {more}\n")
        for text, more in zip(REPOINTED[name], ("re", "sys"), strict=True)
    )
    base = uses("np.a()") if "more often" in name else ALIAS
    assert merge({FILE: base}, {FILE: user}, {FILE: mover}) == {FILE: DIFFERENT}


def test_a_name_that_both_sides_import_from_elsewhere_is_no_matter(merge):
    user, mover = uses("np.a()", new="import cupy as np"), uses(new="import cupy as np")
    user, mover = (
        text.replace("import os", f"import os\nimport {more}")
        for text, more in ((user, "re"), (mover, "sys"))
    )
    (end,) = merge({FILE: ALIAS}, {FILE: user}, {FILE: mover}).values()
    assert end.startswith("import os\nimport re\nimport sys\nimport cupy as np\n")


@pytest.mark.parametrize(
    ("left", "end"),
    [
        ("k = 2\n", "import os\n\nfrom pkg.common import x\n\nprint(x, x)\n"),
        (UTILS, "one side imports x from elsewhere and the other uses it anew"),
    ],
)
def test_a_name_that_moved_means_what_it_did(left, end, merge):
    trees = of(
        ours={FILE: OTHER_TEXT.replace("print(x)", "print(x, x)")},
        theirs={FILE: FROM_COMMON, "pkg/utils.py": left, "pkg/common.py": UTILS},
    )
    assert merge(*trees) == {FILE: end}


NO_ORDER = "no order of its imports agrees with both sides"
UNLIKE = "which is not what the sides have"

STRANGE = {
    "one side turns what the other puts something between": (
        "from .a import A\nfrom .b import B\n",
        "from .a import A\nfrom .aa import C\nfrom .b import B\n",
        "from .b import B\nfrom .a import A\n",
        f".aa.C would be imported before .a.A, {UNLIKE}",
    ),
    "both sides turn what they have": (
        "import a\nimport b\nimport c\n",
        "import b\nimport a\nimport c\nimport d\n",
        "import a\nimport c\nimport b\nimport e\n",
        f"b would be imported before c, {UNLIKE}",
    ),
    "names of one statement": (
        "from pkg import a, b\n",
        "from pkg import a, aa, b\n",
        "from pkg import b, a\n",
        NO_ORDER,
    ),
    "what git moves by itself": (
        "import a\nimport m\n\nX = 1\nimport b\nY = 1\n",
        "import a\nimport m, n\n\nX = 1\nimport b\nimport c\nY = 1\n",
        "import a\nimport m, o\nimport b\n\nX = 1\nY = 1\n",
        "the import of b moved past other code",
    ),
    "what git leaves where it was and one side has put elsewhere": (
        "import z\n\nX = 1\nfrom b import y\nfrom a import x\n",
        "import z\n\nX = 1\nfrom a import x\nfrom b import y\n",
        "import z\n\nX = 1\nfrom b import y, z\nfrom a import x\n",
        f"b.z would be imported before b.y, {UNLIKE}",
    ),
    "beside a conflict of code": (
        "X = 1\nfrom b import y\nfrom a import x\n\nX = 1\n",
        "X = 1\nfrom a import x\nfrom b import y\n\nX = 2\n",
        "X = 1\nfrom b import y, z\nfrom a import x\n\nX = 3\n",
        f"b.z would be imported before b.y, {UNLIKE}",
    ),
}


@pytest.mark.parametrize("name", STRANGE)
def test_an_order_that_no_side_has_is_for_a_person(name, merge):
    base, ours, theirs, why = STRANGE[name]
    assert merge({FILE: base}, {FILE: ours}, {FILE: theirs}) == {FILE: why}


BLACK = "[tool.isort]\nprofile = 'black'\n"
PLAIN = "import os\n\nimport torch\n"

SORTED = {
    "a package of the project, which is a section of its own": (
        {"tests/helpers.py": "h = 1\n"},
        "import os\n\nimport torch\nimport xarray\n\nfrom tests.helpers import h\n",
        "import os\n\nimport torch\nimport yaml\n",
        "import os\n\nimport torch\nimport xarray\nimport yaml\n\nfrom tests.helpers import h\n",
    ),
    "settings that put statements of both kinds together": (
        {"pyproject.toml": BLACK + "force_sort_within_sections = true\n"},
        "import os\n\nfrom alpha import a\nimport torch\n",
        "import os\n\nimport beta\nimport torch\n",
        "import os\n\nfrom alpha import a\nimport beta\nimport torch\n",
    ),
    "settings of a folder": (
        {"pyproject.toml": BLACK, "pkg/.isort.cfg": "[settings]\nlength_sort = true\n"},
        "import os\n\nimport aaaaaaa\nimport torch\n".replace(
            "import aaaaaaa\nimport torch", "import torch\nimport aaaaaaa"
        ),
        "import os\n\nimport torch\nimport bbbbbb\n",
        "import os\n\nimport torch\nimport bbbbbb\nimport aaaaaaa\n",
    ),
    "no settings": (
        {"pyproject.toml": ""},
        "import os\n\nimport torch\nimport yaml\n",
        "import os\n\nimport torch\nimport xarray\n",
        "import os\n\nimport torch\nimport xarray\nimport yaml\n",
    ),
}


@pytest.mark.parametrize("name", SORTED)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_isort_keeps_on_both_sides_it_keeps_in_the_result(name, end, merge):
    files, ours, theirs, result = SORTED[name]
    base, ours, theirs, result = (
        f"{text}\nCODE = 1\n".replace("\n", end) for text in (PLAIN, ours, theirs, result)
    )
    trees = {FILE: base, "pyproject.toml": BLACK} | files, {FILE: ours}, {FILE: theirs}
    assert merge(*trees) == {FILE: result}


@pytest.mark.parametrize("code", ["from alpha import a\n", "\nfrom alpha import a\n"])
def test_a_file_is_not_left_unsorted_where_both_sides_are_sorted(code, merge):
    """The code is in conflict, or isort would lay out the sides otherwise."""
    values = (1, 2, 3) if code.startswith("from") else (1, 1, 1)
    base, ours, theirs = (
        f"import os\n{more}import torch\n\nX = {value}\n"
        for more, value in zip(("\n", code, "import beta\n"), values, strict=True)
    )
    settings = BLACK + "force_sort_within_sections = true\n"
    trees = {FILE: base, "pyproject.toml": settings}, {FILE: ours}, {FILE: theirs}
    assert merge(*trees) == {FILE: "both sides are in isort's order, and the result would not be"}


def test_settings_that_are_in_conflict_themselves(merge):
    _, ours, theirs, result = SORTED["a package of the project, which is a section of its own"]
    ends = merge(
        {FILE: PLAIN, "pyproject.toml": f"{BLACK}py_version = 310\n", "tests/helpers.py": ""},
        {FILE: ours, "pyproject.toml": f"{BLACK}py_version = 311\n"},
        {FILE: theirs, "pyproject.toml": f"{BLACK}py_version = 312\n"},
    )
    assert ends[FILE] == result


@pytest.mark.parametrize(
    "settings",
    [
        "[tool.isort\n",
        *(
            f"[tool.isort]\n{setting}\n"
            for setting in (
                "profile = 'none'",
                "line_length = 'x'",
                "no = 1",
                "multi_line_output = 'x'",
                "sections = 5",
                "sections = ['X']",
                "known_first_party = 5",
                "sort_order = 'x'",
                "formatter = 'x'",
                "src_paths = [5]",
                "verbose = true",
            )
        ),
    ],
)
def test_settings_that_isort_refuses_sort_nothing_and_tell_nothing(settings, merge, capfd):
    ours, theirs = PLAIN + "import xarray\n", PLAIN + "import yaml\n"
    trees = {FILE: PLAIN, "pyproject.toml": settings}, {FILE: ours}, {FILE: theirs}
    assert merge(*trees) == {FILE: PLAIN + "import xarray\nimport yaml\n"}
    assert capfd.readouterr() == ("", "")


def test_a_sync_asks_a_person_where_main_moved_a_module(world):
    more = "megatron/core/more.py"
    utils, common = "megatron/core/utils.py", "megatron/core/common.py"
    texts = {more: "from megatron.core.utils import x\n", utils: UTILS}
    world.commit("main", texts, "Add a module")
    assert world.run("sync").code == 0
    world.commit("by-hand", {more: "from megatron.core.utils import k, x\n"}, "Import k")
    world.commit(
        "main",
        {more: "from megatron.core.common import x\n", utils: None, common: UTILS},
        "Move the module",
    )
    done = world.run("sync")
    assert done.code == 3
    assert (
        "its import statements are not merged: the merged tree has no module megatron.core.utils, "
        "which it would import; it moved to megatron.core.common"
    ) in " ".join(done.err.split())
