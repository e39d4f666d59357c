#!/usr/bin/env python3
"""Stands in for GitHub's ``gh``: takes what the real one documents, and nothing else.

The flags and fields are those of gh 2.46's manual pages gh-pr-view(1), gh-pr-edit(1) and
gh-pr-comment(1). What GitHub holds is the JSON file that STAND_IN_GH names; each call is added to
its ``calls``.
"""

import json
import os
import sys
from pathlib import Path

INHERITED = {"-R": "--repo", "--repo": True, "--help": False}
FLAGS = {
    "view": {
        "-c": "--comments", "--comments": False, "-q": "--jq", "--jq": True, "--json": True,
        "-t": "--template", "--template": True, "-w": "--web", "--web": False,
    },
    "edit": {
        "-b": "--body", "--body": True, "-F": "--body-file", "--body-file": True,
        "-B": "--base", "--base": True, "-t": "--title", "--title": True,
        "-m": "--milestone", "--milestone": True, "--remove-milestone": False,
        **{f"--{verb}-{what}": True for verb in ("add", "remove")
           for what in ("assignee", "label", "project", "reviewer")},
    },
    "comment": {
        "-b": "--body", "--body": True, "-F": "--body-file", "--body-file": True,
        "-e": "--editor", "--editor": False, "-w": "--web", "--web": False, "--edit-last": False,
    },
}  # fmt: skip
FIELDS = {
    "additions", "assignees", "author", "autoMergeRequest", "baseRefName", "body",
    "changedFiles", "closed", "closedAt", "comments", "commits", "createdAt", "deletions",
    "files", "headRefName", "headRefOid", "headRepository", "headRepositoryOwner", "id",
    "isCrossRepository", "isDraft", "labels", "latestReviews", "maintainerCanModify",
    "mergeCommit", "mergeStateStatus", "mergeable", "mergedAt", "mergedBy", "milestone",
    "number", "potentialMergeCommit", "projectCards", "projectItems", "reactionGroups",
    "reviewDecision", "reviewRequests", "reviews", "state", "statusCheckRollup", "title",
    "updatedAt", "url",
}  # fmt: skip


def fail(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.exit(1)


def parse(command: str, arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    flags = FLAGS[command] | INHERITED
    places, given = [], {}
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            places.append(argument)
            continue
        name = flags.get(argument) if argument[1] != "-" else argument
        if name not in flags:
            fail(f"unknown flag: {argument}")
        given[name] = next(rest) if flags[name] else ""
    if len(places) > 1:
        fail(f"accepts at most 1 arg(s), received {len(places)}")
    return places, given


def body_of(given: dict[str, str]) -> str | None:
    if "--body" in given and "--body-file" in given:
        fail("specify only one of `--body` or `--body-file`")
    if given.get("--body-file") == "-":
        return sys.stdin.buffer.read().decode()
    if "--body-file" in given:
        return Path(given["--body-file"]).read_text()
    return given.get("--body")


def main() -> None:
    state_file = Path(os.environ["STAND_IN_GH"])
    state = json.loads(state_file.read_text())
    if state.get("fails"):
        fail(state["fails"])
    area, command, *arguments = sys.argv[1:]
    if area != "pr" or command not in FLAGS:
        fail(f'unknown command "{area} {command}" for "gh"')
    (number,), given = parse(command, arguments)
    if number not in state["prs"]:
        fail(f"GraphQL: Could not resolve to a PullRequest with the number of {number}.")
    pr = state["prs"][number]
    if command == "view":
        wanted = given["--json"].split(",")
        if not FIELDS.issuperset(wanted):
            fail(f"Unknown JSON field: {wanted}")
        sys.stdout.write(json.dumps({field: pr[field] for field in wanted}) + "\n")
        return
    state["calls"].append(sys.argv[1:])
    body = body_of(given)
    if command == "edit":
        pr |= {} if body is None else {"body": body}
        pr |= {"baseRefName": given["--base"]} if "--base" in given else {}
    else:
        pr["comments"].append({"body": body})
    state_file.write_text(json.dumps(state))


main()
