"""The scanner against a second reading that shares no code and no technique with it.

The second reading compiles each module and reads the *bytecode*: which scope a name belongs to is
then Python's own answer. It is slow, knows no kinds, and follows fewer forms. A third check runs
the functions of the corpus with stand-ins that record what is read.
"""

import builtins
import dis
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import yaml

from carry.bases import ReleaseTree, default_cache, fetch_release
from carry.releases import RELEASES
from process_groups.scan import scan_tree
from process_groups.source import parse

CORPUS = {
    item["case"]: item
    for item in yaml.safe_load(Path(__file__).with_name("corpus.yml").read_text("utf-8"))
}

CORE = "megatron/core"
GRID = "megatron.core.parallel_state"
SHIM = "use_mpu_process_groups"
FALLBACK = "megatron.core.process_group_fallback"
RESOLVE = "resolve_process_groups"
OUTSIDE = {
    f"{CORE}/parallel_state.py",
    f"{CORE}/process_groups_config.py",
    f"{CORE}/process_group_fallback.py",
}

# The flag of code that belongs to a function.
OPTIMIZED = 1

# A code object by its id (to hash one hashes all that it holds), and a name in it.
Owner = tuple[int, str]
# What a name may be: ("import", dotted), ("chain", code, root, attributes) or ("other",).
Meaning = tuple


class Module:
    """The names of one module, read off its bytecode."""

    def __init__(self, name: str, package: str, text: str) -> None:
        self.name = name
        self.package = package
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.code = compile(text, name, "exec", dont_inherit=True, optimize=0)
        self.parents: dict[int, types.CodeType] = {}
        self.scopes: dict[int, str] = {id(self.code): ""}
        self.bound: dict[Owner, set[Meaning]] = {}
        self.stars: list[str] = []
        self.all = {id(code): code for code in self.codes()}
        self.items = {key: list(instructions(code)) for key, code in self.all.items()}
        for code in self.all.values():
            for argument in code.co_varnames[: _arguments(code)]:
                self.bind(code, "FAST", argument, ("other",))
            for run in runs(self.items[id(code)]):
                self._note(code, run)

    def codes(self) -> Iterator[types.CodeType]:
        pending = [self.code]
        while pending:
            code = pending.pop()
            yield code
            numbers: Counter[str] = Counter()
            for inner in code.co_consts:
                if isinstance(inner, types.CodeType):
                    numbers[inner.co_name] += 1
                    number = numbers[inner.co_name]
                    own = f"{inner.co_name}#{number}" if number > 1 else inner.co_name
                    outer = self.scopes[id(code)]
                    hidden = inner.co_name.startswith("<")
                    self.scopes[id(inner)] = outer if hidden else f"{outer}.{own}".strip(".")
                    self.parents[id(inner)] = code
                    pending.append(inner)

    def owner(self, code: types.CodeType, how: str, name: str) -> Owner:
        """The code object whose variable a load or store means."""
        if how == "GLOBAL":
            return id(self.code), name
        if how == "FAST" and not code.co_flags & OPTIMIZED:
            return id(code), f"{name} of a comprehension"
        if how == "NAME" and code is not self.code:
            own = id(code), name
            return own if own in self.bound else (id(self.code), name)
        while how == "DEREF" and name not in code.co_cellvars and id(code) in self.parents:
            code = self.parents[id(code)]
        return id(code), name

    def bind(self, code: types.CodeType, how: str, name: str, meaning: Meaning) -> None:
        owner = (id(code), name) if how == "NAME" else self.owner(code, how, name)
        self.bound.setdefault(owner, set()).add(meaning)

    def _note(self, code: types.CodeType, run: list[dis.Instruction]) -> None:
        first = run[0]
        if first.opname == "IMPORT_NAME":
            self._note_import(code, run)
            return
        if len(run) == 1 and _stored(first) is None:
            return
        attributes = [item.argval for item in run[1:] if item.opname in ATTRIBUTES]
        for item in run:
            how = _stored(item)
            if how is None:
                continue
            meaning: Meaning = ("other",)
            loaded = _loaded(first)
            if loaded and all(i.opname in ATTRIBUTES or _stored(i) or _is_copy(i) for i in run[1:]):
                meaning = ("chain", code, loaded, first.argval, tuple(attributes))
            self.bind(code, how, item.argval, meaning)

    def _note_import(self, code: types.CodeType, run: list[dis.Instruction]) -> None:
        name, level, listed = run[0].argval
        module = absolute(name, level, self.package)
        names = [item.argval for item in run if item.opname == "IMPORT_FROM"]
        stores = [(how, item.argval) for item in run if (how := _stored(item))]
        if any(item.opname == "CALL_INTRINSIC_1" for item in run):
            self.stars.append(module)
        elif not names:
            ((how, name),) = stores
            self.bind(code, how, name, ("import", module.partition(".")[0]))
        elif not listed:
            ((how, name),) = stores
            self.bind(code, how, name, ("import", module))
        else:
            for imported, (how, name) in zip(names, stores, strict=True):
                self.bind(code, how, name, ("import", f"{module}.{imported}"))


ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
IMPORTING = {"IMPORT_FROM", "SWAP", "POP_TOP", "CALL_INTRINSIC_1"}


def runs(items: list[dis.Instruction]) -> Iterator[list[dis.Instruction]]:
    """Instructions that belong together: a load with its attributes and stores, or an import."""
    run: list[dis.Instruction] = []
    before: list[dis.Instruction] = []
    for item in items:
        if item.opname == "IMPORT_NAME":
            level, names = (constant.argval for constant in before[-2:])
            item = item._replace(argval=(item.argval, level, names))  # noqa: PLW2901 - the same
        before.append(item)
        belongs = run and (
            (_stored(item) is not None)
            or (item.opname in IMPORTING and run[0].opname == "IMPORT_NAME")
            or (item.opname in ATTRIBUTES and run[-1].opname in {*ATTRIBUTES, run[0].opname})
            or _is_copy(item)
        )
        if belongs:
            run.append(item)
            continue
        if run:
            yield run
        run = [item]
    yield run


def instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    for item in dis.get_instructions(code):
        if item.opname in {"EXTENDED_ARG", "CACHE", "NOP", "PUSH_NULL", "RESUME"}:
            continue
        if isinstance(item.argval, tuple) and "_FAST_" in item.opname:
            # From Python 3.13 on, two loads or stores may be one instruction.
            for name, part in zip(item.argval, item.opname.split("_FAST_"), strict=False):
                yield item._replace(opname=f"{part.split('_')[-1]}_FAST", argval=name)
            continue
        yield item


def _loaded(item: dis.Instruction) -> str | None:
    for how in ("GLOBAL", "FAST", "DEREF", "NAME"):
        if item.opname.startswith(f"LOAD_{how}"):
            return how
    if item.opname in {"LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF"}:
        return "GLOBAL"
    return "DEREF" if item.opname == "LOAD_FROM_DICT_OR_DEREF" else None


def _stored(item: dis.Instruction) -> str | None:
    how = item.opname.removeprefix("STORE_")
    return how if item.opname != how and how in {"GLOBAL", "FAST", "DEREF", "NAME"} else None


def _is_copy(item: dis.Instruction) -> bool:
    return item.opname == "COPY"


def _arguments(code: types.CodeType) -> int:
    stars = bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_argcount + code.co_kwonlyargcount + stars


def absolute(name: str, level: int, package: str) -> str:
    if not level:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *filter(None, [name])])


class SecondReading:
    """All modules of a tree."""

    def __init__(self, files: dict[str, str], names: frozenset[str]) -> None:
        self.names = names
        self.modules: dict[str, Module] = {}
        self.paths: dict[str, str] = {}
        self.known: dict[tuple[str, Owner], set[str]] = {}
        for path in sorted(files, key=lambda path: not path.endswith("__init__.py")):
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if name not in self.modules:
                package = path.rpartition("/")[0].replace("/", ".")
                self.modules[name] = Module(name, package, files[path])
                self.paths[name] = path

    def reads(self) -> Counter[tuple[str, str, str]]:
        """How often each function is read, by path and scope."""
        found: Counter[tuple[str, str, str]] = Counter()
        for name, module in self.modules.items():
            if self.paths[name] not in OUTSIDE:
                places = {
                    place
                    for code in module.all.values()
                    for place in (*self._in(module, code), *self._attributes(module, code))
                }
                found.update((self.paths[name], scope, read) for scope, read, _ in places)
        return found

    def _in(self, module: Module, code: types.CodeType) -> Iterator[tuple[str, str, object]]:
        scope = module.scopes[id(code)] or "<module>"
        items = module.items[id(code)]
        for number, item in enumerate(items):
            how = _loaded(item)
            following = []
            for after in items[number + 1 :]:
                if after.opname not in ATTRIBUTES:
                    break
                following.append(after.argval)
            if how is not None:
                rest = items[number + 1 + len(following) :]
                asked = number and items[number - 1].argval == "getattr" and rest
                asked = asked and (id(module.code), "getattr") not in module.bound
                if asked and rest[0].opname == "LOAD_CONST":
                    following.append(rest[0].argval)
                read = self._read(module, code, how, item.argval, following)
                if read is not None:
                    yield scope, read, item.positions
            if item.opname in ATTRIBUTES and item.argval == SHIM:
                root = number
                while root and items[root].opname in ATTRIBUTES:
                    root -= 1
                if not self._is_other_class(module, code, items[root], items[root + 1 : number]):
                    yield scope, f"ProcessGroupCollection.{SHIM}", item.positions

    def _attributes(
        self, module: Module, code: types.CodeType
    ) -> Iterator[tuple[str, str, object]]:
        """What imports in the body of a class give it."""
        if code is module.code or code.co_flags & OPTIMIZED:
            return
        for first, *rest in runs(module.items[id(code)]):
            for item in rest if first.opname == "IMPORT_NAME" else ():
                if item.opname == "IMPORT_FROM":
                    name, level, _ = first.argval
                    target = f"{absolute(name, level, module.package)}.{item.argval}"
                    for end in self._resolve(target, frozenset()):
                        owner, _, last = end.rpartition(".")
                        if owner == GRID and last in self.names:
                            yield module.scopes[id(code)], last, item.positions

    def _read(
        self, module: Module, code: types.CodeType, how: str, root: str, attributes: list[str]
    ) -> str | None:
        at = self._meanings(module, module.owner(code, how, root), frozenset())
        for attribute in [None, *attributes]:
            if attribute is not None:
                at = {end for name in at for end in self._member(name, attribute, frozenset())}
            for name in sorted(at):
                owner, _, last = name.rpartition(".")
                if (owner == GRID and last in self.names) or name == f"{FALLBACK}.{RESOLVE}":
                    return last
        return None

    def _is_other_class(self, module, code, root, between) -> bool:
        how = _loaded(root)
        if how is None:
            return False
        owner = module.owner(code, how, root.argval)
        if owner not in module.bound:
            return False
        local = [
            inner
            for inner in module.all[owner[0]].co_consts
            if isinstance(inner, types.CodeType) and inner.co_name == root.argval
        ]
        if local:
            return all(SHIM in inner.co_names for inner in local)
        at = self._meanings(module, owner, frozenset())
        for item in between:
            at = {end for name in at for end in self._member(name, item.argval, frozenset())}
        imported = all(meaning[0] == "import" for meaning in module.bound[owner])
        return imported and not any(name.startswith("megatron.") for name in at)

    def _meanings(self, module: Module, owner: Owner, seen: frozenset) -> set[str]:
        """The dotted names that a variable may stand for."""
        if owner in seen:
            return set()
        if seen:
            return self._followed(module, owner, seen | {owner})
        key = module.name, owner
        if key not in self.known:
            self.known[key] = self._followed(module, owner, frozenset({owner}))
        return self.known[key]

    def _followed(self, module: Module, owner: Owner, seen: frozenset) -> set[str]:
        code, name = owner
        found: set[str] = set()
        for meaning in module.bound.get(owner, ()):
            if meaning[0] == "import":
                found |= self._resolve(meaning[1], seen)
            elif meaning[0] == "chain":
                _, here, how, root, attributes = meaning
                ends = self._meanings(module, module.owner(here, how, root), seen)
                for attribute in attributes:
                    ends = {e for end in ends for e in self._member(end, attribute, seen)}
                # A function in a variable was read there; the variable is not followed.
                found |= {end for end in ends if end.rpartition(".")[0] not in {GRID, FALLBACK}}
        if code == id(module.code):
            if owner not in module.bound:
                for star in module.stars:
                    if self._offers(star, name, frozenset()):
                        found |= self._resolve(f"{star}.{name}", seen)
            found |= set() if found else {f"{module.name}.{name}"}
        return found

    def _offers(self, name: str, attribute: str, seen: frozenset) -> bool:
        for end in self._resolve(name, frozenset()):
            module = self.modules.get(end)
            if module is None or end in seen:
                continue
            if (id(module.code), attribute) in module.bound:
                return True
            if any(self._offers(star, attribute, seen | {end}) for star in module.stars):
                return True
        return False

    def _resolve(self, dotted: str, seen: frozenset) -> set[str]:
        first, *rest = dotted.split(".")
        at = {first}
        for part in rest:
            at = {end for name in at for end in self._member(name, part, seen)}
        return at

    def _member(self, name: str, part: str, seen: frozenset) -> set[str]:
        whole = f"{name}.{part}"
        if name == GRID or not name.startswith("megatron"):
            return {whole}
        module = self.modules.get(name)
        found: set[str] = set()
        if module is not None:
            found = self._meanings(module, (id(module.code), part), seen)
        if not found or whole in self.modules:
            found = found | {whole}
        return found


def the_scanners(files: dict[str, str]) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    reads = scan_tree({path: path for path in files}, lambda path: files[path].encode())
    for read, count in reads.items():
        # The second reading does not look for what cannot be resolved.
        if read.kind != "unresolved":
            found[read.path, read.scope, read.function] += count
    return found


def names_of(files: dict[str, str]) -> frozenset[str]:
    from process_groups.grid import derive  # noqa: PLC0415 - all else here shares nothing with it

    grid = derive(parse(files[f"{CORE}/parallel_state.py"].encode(), "parallel_state.py").tree).grid
    return grid.accessors | grid.state


def test_the_second_reading_agrees_on_the_corpus(base: dict[str, str]) -> None:
    differing = {}
    for case, item in CORPUS.items():
        files = base | {
            f"{CORE}/{path}": text.removeprefix("\ufeff") for path, text in item["files"].items()
        }
        second = SecondReading(files, names_of(files)).reads()
        expected = Counter[tuple[str, str, str]]()
        for line in item["reads"]:
            path, scope, function, kind, *times = line.split()
            if kind != "unresolved":
                count = int(times[0][1:]) if times else 1
                expected[f"{CORE}/{path}", scope, function] += count
        if second != expected:
            differing[case] = (second - expected, expected - second)
    assert differing == {}


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> dict[str, str]:
    """The Python files of a release; it is downloaded on first use, and nothing is skipped."""
    tree = ReleaseTree(request.param, fetch_release(request.param, default_cache()))
    return {
        path: (tree.read(path) or b"").decode("utf-8-sig")
        for path in tree.paths()
        if path.startswith(f"{CORE}/") and path.endswith(".py")
    }


@pytest.mark.timeout(300)
def test_the_second_reading_agrees_on_a_release(release: dict[str, str]) -> None:
    second = SecondReading(release, names_of(release)).reads()
    assert second.total() > 150
    first = the_scanners(release)
    assert (second - first, first - second) == (Counter(), Counter())


# The kinds, against what happens when the code runs.


class Recorder:
    """Stands in for ``parallel_state``: says whether the grid exists, and notes what is read."""

    def __init__(self, *, exists: bool) -> None:
        self.exists = exists
        self.read: set[str] = set()

    def ready(self) -> bool:
        return self.exists

    def tp_rank(self) -> int:
        return self._note("tp_rank")

    def tp_group(self) -> int:
        return self._note("tp_group")

    def _note(self, name: str) -> int:
        if name in self.read:
            raise StopIteration  # a loop that would not end
        self.read.add(name)
        return 1


# Parameters that say nothing about the caller's groups.
OTHERS = {"a", "config", "hidden_size", "batch_size", "param_group", "param_groups", "num_groups",
          "bucket_group", "kv_lora_rank", "virtual_pipeline_model_parallel_size", "on_this_rank",
          "groupwise"}  # fmt: skip

RUNNABLE = [
    case
    for case, item in CORPUS.items()
    if case.startswith(("kinds:", "parameters:")) and item["files"].keys() == {"a.py"}
]


def what_runs(source: str, *, exists: bool, given: object, other: object) -> set[str]:
    """What is read when each function of a module is called, and each function it returns."""
    grid = Recorder(exists=exists)
    core = types.SimpleNamespace(parallel_state=grid)
    collection = types.SimpleNamespace(
        ProcessGroupCollection=types.SimpleNamespace(
            use_mpu_process_groups=lambda: grid._note(f"ProcessGroupCollection.{SHIM}")  # noqa: SLF001
        )
    )
    modules = {
        "megatron.core": core,
        "megatron.core.process_groups_config": collection,
        FALLBACK: types.SimpleNamespace(
            resolve_process_groups=lambda _: grid._note(RESOLVE),  # noqa: SLF001
            warn_process_group_fallback=lambda: None,
        ),
        "elsewhere": types.SimpleNamespace(ready=lambda: True),
    }

    def load(name: str, *_: object) -> object:
        return modules[name]

    space: dict[str, object] = {
        "__name__": "a",
        "__builtins__": vars(builtins) | {"__import__": load},
        "x": [1],
        "E": ValueError,
        "torch": types.SimpleNamespace(
            distributed=types.SimpleNamespace(is_initialized=lambda: True)
        ),
    }
    exec(compile(source, "a.py", "exec"), space)  # noqa: S102 - the corpus is this test's own
    for function in list(space.values()):
        if not isinstance(function, types.FunctionType) or function.__module__ == __name__:
            continue
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        try:
            function(*(other if name in OTHERS else _value(name, given) for name in names))
        except (ValueError, AssertionError, AttributeError, StopIteration, NameError):
            continue  # the case ends so; what it read before counts
    return grid.read


def _value(name: str, given: object) -> object:
    """What a caller gives for a parameter: the first rank if it is one."""
    return given and (0 if name.endswith("rank") else given)


@pytest.mark.parametrize("case", RUNNABLE)
def test_what_is_called_mild_does_not_happen_where_it_must_not(case: str) -> None:
    source = CORPUS[case]["files"]["a.py"]
    reads = [line.split() for line in CORPUS[case]["reads"]]
    by_kind = {
        kind: {function for _, _, function, found in reads if found == kind}
        - {function for _, _, function, found in reads if found != kind}
        for kind in ("guarded", "fallback", "warned")
    }
    # What resolves reads the grid only where nothing was given, but stands wherever it likes.
    by_kind["warned"] -= {RESOLVE}
    for other, given in product((None, 1), (None, 1)):
        there = what_runs(source, exists=False, given=given, other=other)
        assert not there & by_kind["guarded"]
    for other, exists in product((None, 1), (True, False)):
        there = what_runs(source, exists=exists, given=1, other=other)
        assert not there & (by_kind["fallback"] | by_kind["warned"])


def test_most_plain_reads_do_happen() -> None:
    """The check above sees reads at all: those that nothing makes milder, nearly all run."""
    plain, seen = set(), set()
    for case in RUNNABLE:
        reads = [line.split() for line in CORPUS[case]["reads"]]
        if {kind for *_, kind in reads} == {"accessor"}:
            plain.add(case)
            source = CORPUS[case]["files"]["a.py"]
            for exists, given, other in product((True, False), (None, 1), (None, 1)):
                if what_runs(source, exists=exists, given=given, other=other):
                    seen.add(case)
    assert len(plain) == 48
    # What these are about is not defined where they run.
    assert plain - seen == {
        "kinds: attribute",
        "kinds: attribute of a parameter",
        "kinds: variable set from itself",
        "parameters: assigned before the test by a loop",
    }
