"""What a person reads of how the branches stand."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from carry.carried import Carrier
from merge_series.checks import Check
from merge_series.inspect import BranchStatus
from stack.model import PullRequest


def status_table(statuses: Sequence[BranchStatus]) -> Table:
    """Where each branch stands; what is long goes on below, so that it fits 80 columns."""
    table = Table(box=None)
    for name in ("PR", "Branch", "State", "Head", "Ahead", "Against main and stack"):
        is_long = name in {"Branch", "Against main and stack"}
        table.add_column(name, overflow="fold", no_wrap=not is_long)
    for status in statuses:
        style = "green" if status.summary == "up to date" else "yellow"
        table.add_row(
            status.pull_request.name,
            status.pull_request.branch,
            status.pull_request.state,
            (status.head or "")[:9],
            str(status.ahead),
            Text(status.summary, style=style),
        )
    return table


def check_table(checks: Sequence[Check]) -> Table:
    """What verify looked at; what it found is told below, by the number in its row."""
    table = Table(box=None)
    for name in ("Branch", "Check", "Result"):
        table.add_column(name, overflow="fold")
    last = ""
    number = 0
    for check in checks:
        if check.found:
            number += 1
            result = Text(f"no, see {number} below", style="bold red")
        elif check.note:
            result = Text(f"not checked: {check.note}", style="dim")
        else:
            result = Text("yes", style="green")
        table.add_row(check.branch if check.branch != last else "", check.name, result)
        last = check.branch
    return table


def faults_told(checks: Sequence[Check]) -> list[Text]:
    """What verify found, each by its number in the table."""
    faults = [check for check in checks if check.found]
    return [
        Text(f"{number}. {fault.branch}, {fault.name}: {fault.found}", style="red")
        for number, fault in enumerate(faults, 1)
    ]


def stack_tree(carrier: Carrier, statuses: Sequence[BranchStatus], main_name: str) -> Tree:
    """The stack as a tree; a PR on several stands below the last and names the others."""
    known = {status.pull_request.number: status for status in statuses}
    root = Tree(main_name)
    nodes: dict[int, Tree] = {}
    order = {pr.number: place for place, pr in enumerate(carrier.series)}
    for pull_request in carrier.series:
        parents = sorted(pull_request.depends_on, key=order.__getitem__)
        parent = nodes[parents[-1]] if parents else root
        nodes[pull_request.number] = parent.add(
            _node(pull_request, known[pull_request.number], parents[:-1])
        )
    return root


def _node(pull_request: PullRequest, status: BranchStatus, others: Sequence[int]) -> Text:
    text = Text(f"{pull_request.name} ", style="bold")
    text.append(pull_request.branch, style="cyan")
    text.append(f"  {pull_request.title}", style="not bold")
    if others:
        text.append(f"  (also on {', '.join(f'#{number}' for number in others)})")
    marks = ["draft"] if pull_request.state == "draft" else []
    marks += [status.summary] if status.summary != "up to date" else []
    if marks:
        text.append(f"  [{', '.join(marks)}]", style="yellow")
    return text
