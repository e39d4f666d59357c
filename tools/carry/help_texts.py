"""The end of each command's help: examples and exit codes; a test runs each example's parse."""

from stack.command_line import epilog

_TREE_BUSY = "another run changes the tree"
_REPOSITORY_BUSY = "another run moves branches there"

TOOL = epilog(
    "carry check 0.19.2",
    "carry --series path/to/SERIES.md apply path/to/Megatron-LM",
    "carry wheel --release 0.19.2",
    found="an edit does not land",
    busy="another run is at work there",
)

CHECK = epilog(
    "carry check 0.17.1 0.18.2 0.19.0 0.19.2",
    "carry check 0.19.2 path/to/Megatron-LM",
    "carry check path/to/Megatron-LM:upstream/main --json > edits.json",
    found="an edit does not land",
)

REPORT = epilog(
    "carry report",
    "carry report path/to/Megatron-LM:upstream/main",
    "carry report --json > report.json || echo 'drifted, or not looked at'",
    found="the series does not land where it should",
)

APPLY = epilog(
    "carry apply path/to/Megatron-LM",
    "carry apply --release 0.19.2 --output build/tree",
    found="an edit does not land",
    busy=_TREE_BUSY,
)

WHEEL = epilog(
    "carry wheel --release 0.19.2 && pip install dist/megatron_core-0.19.2+series.*.whl",
    "carry wheel --release 0.19.2 --python venv/bin/python --output wheels",
    found="an edit does not land",
)

CHECKPOINT = epilog(
    "carry checkpoint path/to/checkpoints/iter_0001000",
    "carry checkpoint path/to/checkpoints/iter_0001000 --json > names.json",
    found="its experts or layers are named wrongly, or a tensor of it is not whole",
)

WHERE = epilog(
    "carry --series path/to/SERIES.md where",
    "carry --series path/to/SERIES.md where --python venv/bin/python",
    found="the series is not in what is imported",
)

EXPORT = epilog("carry export --release 0.19.2 --output build/unmodified")

IMPORT = epilog(
    "carry import --release 0.19.2",
    "carry import --release 0.19.2 --repo path/to/fork",
    busy=_REPOSITORY_BUSY,
)

BUILD = epilog(
    "carry build",
    "carry build --repo path/to/Megatron-LM --main upstream/main",
    found="an edit does not land",
    busy=_REPOSITORY_BUSY,
)
