"""The same as ``publish`` does, as a shell script for where ``gh`` is.

The script itself looks at what GitHub has when it runs, so that to print it needs neither ``gh``
nor a network.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from merge_series.review.publishing import BEGIN, END, Wanted

_HEAD = """\
#!/bin/sh
# Brings pull requests on GitHub up to date, through gh: of each body what stands between two
# markers, its base branch, and a comment for its head where none names it.
# Where the clone stands in another folder, name that: sh SCRIPT FOLDER
set -eu
cd -- "${{1:-{folder}}}"
begin={begin}
end={end}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# new_body NUMBER: the body on standard input with the text of $work/ours in its place
new_body() {{
    awk -v name="#$1" -v begin="$begin" -v end="$end" '
        function count(text, part, number, at) {{
            while ((at = index(text, part)) > 0) {{
                number++
                text = substr(text, at + length(part))
            }}
            return number + 0
        }}
        FILENAME != "-" {{ ours = ours (FNR > 1 ? "\\n" : "") $0; next }}
        {{ body = body (lines++ ? "\\n" : "") $0 }}
        END {{
            begins = count(body, begin)
            ends = count(body, end)
            from = index(body, begin)
            to = index(body, end)
            if (begins == 0 && ends == 0) {{
                sub(/[ \\t\\r\\n]+$/, "", body)
                body = body (body == "" ? "" : "\\n\\n") ours "\\n"
            }} else if (begins == 1 && ends == 1 && from < to) {{
                old = substr(body, from, to - from + length(end))
                gsub(/\\r\\n/, "\\n", old)  # as the editor on GitHub ends lines
                if (old != ours)
                    body = substr(body, 1, from - 1) ours substr(body, to + length(end))
            }} else {{
                print name ": its body has " begins " opening and " ends " closing markers of " \\
                    "merge_series, or in the wrong order; leave one pair, or none" > "/dev/stderr"
                exit 1
            }}
            printf "%s", body
        }}
    ' "$work/ours" -
}}

# publish NUMBER BRANCH HEAD BASE MAIN: its text is on standard input; of a PR that is no longer
# open, BASE is empty: the base stays, and no test is asked for
publish() {{
    cat > "$work/ours"
    gh pr view "$1" --json baseRefName,body,headRefOid,isCrossRepository,url \\
        --jq '.url, .headRefOid, .baseRefName, .isCrossRepository, .body' > "$work/published"
    place=$(sed -n '1s|^https*://||p' "$work/published")
    head=$(sed -n 2p "$work/published")
    base=$(sed -n 3p "$work/published")
    wanted=${{4:-$base}}
    if [ -n "$4" ] && [ "$(sed -n 4p "$work/published")" = true ]; then
        wanted=$5  # GitHub takes no base from a fork
    fi
    if [ "$head" != "$3" ]; then
        echo "#$1: GitHub has its head at $head, and $2 is at $3; push the branch first" >&2
        exit 1
    fi
    sed 1,4d "$work/published" > "$work/body"
    new_body "$1" < "$work/body" > "$work/new"
    # gh ends what it prints with a line end that the body has not.
    if {{ cat "$work/new"; echo; }} | cmp -s - "$work/body" && [ "$base" = "$wanted" ]; then :; else
        path=${{place#*/}}
        gh api --silent --hostname "${{place%%/*}}" --method PATCH \\
            "repos/${{path%/pull/*}}/pulls/$1" --field "body=@$work/new" --raw-field "base=$wanted"
    fi
    [ -n "$4" ] || return 0
    gh pr view "$1" --json comments --jq '.comments[].body' > "$work/comments"
    grep -qF "/ok to test $3" "$work/comments" || gh pr comment "$1" --body "/ok to test $3"
}}
"""


def script(folder: Path, pull_requests: Sequence[Wanted]) -> str:
    """A shell script that publishes PRs, and ends at the first that fails.

    Args:
        folder: The repository, which tells ``gh`` what GitHub repository is meant.
        pull_requests: What GitHub is to have of each.
    """
    head = _HEAD.format(
        folder=shlex.quote(str(folder)), begin=shlex.quote(BEGIN), end=shlex.quote(END)
    )
    calls = [
        f"printf '%s\\n' {shlex.quote(one.ours)} |\n    "
        + shlex.join(("publish", str(one.number), one.branch, one.head, one.base or "", one.main))
        for one in pull_requests
    ]
    return "\n".join([head, *calls]) + "\n"
