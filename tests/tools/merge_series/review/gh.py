#!/usr/bin/env python3
"""Stands in for GitHub's ``gh``: takes what the real one documents, and nothing else.

The flags and fields are those of gh 2.23, as its ``--help`` lists them and as it answers. What
GitHub holds is the JSON file that STAND_IN_GH names; each call that changes it is added to its
``calls``.
"""

import json
import os
import sys
from pathlib import Path

INHERITED = {"--help": False}
FLAGS = {
    "view": {
        "-c": "--comments", "--comments": False, "-q": "--jq", "--jq": True, "--json": True,
        "-t": "--template", "--template": True, "-w": "--web", "--web": False,
        "-R": "--repo", "--repo": True,
    },
    "comment": {
        "-b": "--body", "--body": True, "-F": "--body-file", "--body-file": True,
        "-e": "--editor", "--editor": False, "-w": "--web", "--web": False, "--edit-last": False,
        "-R": "--repo", "--repo": True,
    },
    "api": {
        "--cache": True, "-F": "--field", "--field": True, "-H": "--header", "--header": True,
        "--hostname": True, "-i": "--include", "--include": False, "--input": True,
        "-q": "--jq", "--jq": True, "-X": "--method", "--method": True, "--paginate": False,
        "-p": "--preview", "--preview": True, "-f": "--raw-field", "--raw-field": True,
        "--silent": False, "-t": "--template", "--template": True,
    },
}  # fmt: skip
FIELDS = {
    "additions", "assignees", "author", "baseRefName", "body",
    "changedFiles", "closed", "closedAt", "comments", "commits", "createdAt", "deletions",
    "files", "headRefName", "headRefOid", "headRepository", "headRepositoryOwner", "id",
    "isCrossRepository", "isDraft", "labels", "latestReviews", "maintainerCanModify",
    "mergeCommit", "mergeStateStatus", "mergeable", "mergedAt", "mergedBy", "milestone",
    "number", "potentialMergeCommit", "projectCards", "reactionGroups",
    "reviewDecision", "reviewRequests", "reviews", "state", "statusCheckRollup", "title",
    "updatedAt", "url",
}  # fmt: skip


def fail(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.exit(1)


def parse(command: str, arguments: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    flags = FLAGS[command] | INHERITED
    places, given = [], []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            places.append(argument)
            continue
        name = flags.get(argument) if argument[1] != "-" else argument
        if name not in flags:
            fail(f"unknown flag: {argument}")
        given.append((name, next(rest) if flags[name] else ""))
    if len(places) > 1:
        fail(f"accepts at most 1 arg(s), received {len(places)}")
    return places, given


def view(pr: dict[str, object], given: dict[str, str]) -> None:
    wanted = given["--json"].split(",")
    if not FIELDS.issuperset(wanted):
        fail(f"Unknown JSON field: {wanted}")
    sys.stdout.write(json.dumps({field: pr[field] for field in wanted}) + "\n")


def patch(state: dict[str, object], path: str, given: list[tuple[str, str]]) -> None:
    """Change a PR by the REST interface."""
    one = dict(given)
    prefix = "repos/NVIDIA/Megatron-LM/pulls/"
    if one["--hostname"] != "github.com" or not path.startswith(prefix):
        fail("gh: Not Found (HTTP 404)")
    if one.get("--method") != "PATCH" or path.removeprefix(prefix) not in state["prs"]:
        fail("gh: Not Found (HTTP 404)")
    if state["prs"][path.removeprefix(prefix)].get("refuses"):
        fail("gh: Validation Failed (HTTP 422)")
    names = {"body": "body", "base": "baseRefName"}
    for flag, value in given:
        if flag in {"--field", "--raw-field"}:
            name, _, text = value.partition("=")
            state["prs"][path.removeprefix(prefix)][names[name]] = (
                sys.stdin.buffer.read().decode() if (flag, text) == ("--field", "@-") else text
            )


def main() -> None:
    state_file = Path(os.environ["STAND_IN_GH"])
    state = json.loads(state_file.read_text())
    if state.get("fails"):
        fail(state["fails"])
    area, command, *arguments = sys.argv[1:]
    if area == "api":
        (path,), given = parse("api", [command, *arguments])
        patch(state, path, given)
    elif area != "pr" or command not in FLAGS:
        # Also for gh pr edit: it asks for projectCards, and github.com answers with an error.
        fail(f'unknown command "{area} {command}" for "gh"')
    else:
        (number,), listed = parse(command, arguments)
        given = dict(listed)
        if number not in state["prs"]:
            fail(f"GraphQL: Could not resolve to a PullRequest with the number of {number}.")
        pr = state["prs"][number]
        if command == "view":
            view(pr, given)
            return
        pr["comments"].append({"body": given["--body"]})
    state["calls"].append(sys.argv[1:])
    state_file.write_text(json.dumps(state))


main()
