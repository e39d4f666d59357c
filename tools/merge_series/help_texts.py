"""The end of each command's help: examples and exit codes; a test runs each example's parse."""

from stack.command_line import epilog

_WAITING = "a merge waits for a person, or a revert on main wants an answer"
_BUSY = "another operation is in progress"
_FOUND = "something was found"

TOOL = epilog(
    "merge_series status",
    "merge_series --repo . --main upstream/main sync --dry-run",
    "merge_series --color=never log",
    waiting=_WAITING,
    found="verify or links found something",
    busy=_BUSY,
)

SYNC = epilog(
    "merge_series sync --dry-run",
    "merge_series sync",
    "merge_series sync --update-worktrees",
    "merge_series sync --continue",
    "merge_series sync --landed 8045=1a2b3c4d",
    "merge_series sync --keep-reverted 8045",
    waiting=_WAITING,
    busy=_BUSY,
)

STATUS = epilog(
    "merge_series status",
    "merge_series --repo . --main upstream/main status",
    "merge_series status --json | jq '.branches[] | select(.behind > 0)'",
)

GRAPH = epilog("merge_series graph", "merge_series graph --json")

VERIFY = epilog("merge_series verify", "merge_series verify --json > checks.json", found=_FOUND)

LOG = epilog("merge_series log", "merge_series --color=always log 2>&1 | less -R")

UNDO = epilog(
    "merge_series undo --dry-run",
    "merge_series undo",
    "merge_series undo && merge_series undo",
    busy=_BUSY,
)

REDO = epilog("merge_series redo", busy=_BUSY)

PUSH = epilog(
    "merge_series push --dry-run",
    "merge_series push",
    "merge_series push --remote origin",
    busy=_BUSY,
)

FORGET = epilog("merge_series forget megatron/core/optimizer/distrib_optimizer.py", busy=_BUSY)

STACK = epilog(
    "merge_series stack --pr 8800 --branch my-groups --title 'Pass groups' \\\n"
    "      --on 8045 --because 'It needs the layout.' --dry-run",
    "merge_series stack --pr 8801 --branch both --title 'Use both' \\\n"
    "      --on 8045 --on 8049 --because 'It joins the two.'",
    busy=_BUSY,
)

FOLD = epilog(
    "merge_series fold 8045 8049 --pr 8900 --branch expert-groups \\\n"
    "      --title 'Name experts and warn' --dry-run",
    busy=_BUSY,
)

RENUMBER = epilog(
    "merge_series renumber 8045 9001 --dry-run",
    "merge_series renumber expert-offsets 9001",
    busy=_BUSY,
)

DESCRIBE = epilog(
    "merge_series describe 8045",
    "merge_series describe expert-offsets > body.md",
    "merge_series describe --all --output bodies",
)

SHOW = epilog(
    "merge_series show 8045",
    "merge_series show expert-offsets | less",
    "merge_series --color=always show 8045 --since 1f2e3d4 | less -R",
)

SITE = epilog(
    "merge_series site --output build/site",
    "merge_series --repo . --main upstream/main site --output ../stack",
)

LINKS = epilog(
    "merge_series links links.txt",
    "echo https://github.com/O/R/blob/1f2e3d4/setup.py#L10-L14 | merge_series links -",
    "gh api --paginate repos/O/R/pulls/8045/comments | merge_series links -",
    found="a link broke or was not understood",
)

PUBLISH = epilog(
    "merge_series publish",
    "merge_series publish 8045 8049",
)
