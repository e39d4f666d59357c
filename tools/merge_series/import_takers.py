"""Which files of a tree take names from one of its files."""

import ast
import re
from collections.abc import Collection, Iterator

from merge_series.import_statements import Imported, NotSettled, imports_of, parse_tree
from merge_series.text_merge import one_sided
from merge_series.tree_modules import Modules, stem_of
from stack.git_answers import Sha, decode
from stack.repository import Repository


class Takers:
    """The files of one tree, and what they take from each other.

    Args:
        repository: The fork.
        tree: The tree.
        modules: Its modules.
    """

    def __init__(self, repository: Repository, tree: Sha, modules: Modules) -> None:
        self._repository = repository
        self._tree = tree
        self._modules = modules

    def of(self, path: str, names: Collection[str]) -> set[tuple[str, str]]:
        """The files that take a name from one, each with the name.

        Args:
            path: The file.
            names: The names. One that a package holds a module of is taken from there.
        """
        wanted = {name for name in names if not self._modules.is_beside(path, name)}
        return self._of(path, wanted, frozenset()) if wanted else set()

    def _of(self, path: str, names: set[str], active: frozenset[str]) -> set[tuple[str, str]]:
        found = set()
        module = _word(stem_of(path).rpartition("/")[2])
        # Lines with an import of the module, or with names that may be a part of a longer one.
        imports = f"(from|import).*{module}|^[ \t]*[[:alnum:]_, ]*{module}|from +\\.+ +import"
        mentions = "|".join(map(_word, sorted(names)))
        for file in self._matching("--all-match", "-e", mentions, "-e", imports):
            stages = [self._taken(file, text, path, names) for text in self._modules.texts(file)]
            for name in set().union(*stages):
                taken = [name in stage for stage in stages]
                if one_sided(*taken) if len(taken) > 1 else taken[0]:
                    found.add((file, name))
        for file in self._matching("-e", "import +\\*"):
            bound = self._modules.bound(file)
            stars = bound.stars if bound else ()
            if file not in active and any(self._is(path, star, file) for star in stars):
                found |= self._of(file, names, active | {path})
        return found

    def _matching(self, *patterns: str) -> Iterator[str]:
        """The Python files of which lines match extended patterns."""
        answer = self._repository.run(
            "grep", "-z", "-l", "-E", *patterns, self._tree, "--", "*.py", "*.pyi", accept=(0, 1)
        )
        for line in filter(None, answer.stdout.split(b"\0")):
            yield decode(line.partition(b":")[2])

    def _taken(self, file: str, text: bytes, path: str, names: set[str]) -> set[str]:
        """Which of the names a text takes from a file, by an import or as its attributes."""
        try:
            tree = parse_tree(text)
        except NotSettled:
            return set()
        imported = {name for _, all_ in imports_of(tree) for name in all_}
        holders = {one for one in imported if one.name and self._is(path, one.module, file)}
        taken = {one.name for one in holders} & names
        if "*" in {one.name for one in holders}:
            taken |= names & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if any(self._is(path, module, file) for one in imported for module in _modules(one)):
            taken |= names & {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        return taken

    def _is(self, path: str, module: str, importer: str) -> bool:
        """Whether a module that a file imports is a file."""
        last = module.rpartition(".")[2]
        return last in {"", stem_of(path).rpartition("/")[2]} and path in {
            self._modules.path(place) for place in self._modules.places(module, importer)
        }


def _word(name: str) -> str:
    """An extended pattern of a whole word."""
    return f"(^|[^[:alnum:]_]){re.escape(name)}($|[^[:alnum:]_])"


def _modules(name: Imported) -> Iterator[str]:
    """The modules that an import may bind or load."""
    if name.name:
        yield name.module + ("" if name.module.endswith(".") else ".") + name.name
    else:
        parts = name.module.split(".")
        yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
