"""The table of merges in a narrow terminal: no name is divided but at its separators."""

import io

import pytest
from rich.console import Console

from merge_series.records import AllowlistChange, MergeRecord, SettledFile
from merge_series.report import merge_table
from stack.git_answers import Sha

ADAPTER = "megatron/core/distributed/fsdp/mcore_fsdp_adapter.py"
LISTED = AllowlistChange(196, 204, (), 0)
MAIN = Sha("c37fdf1f6" + "0" * 31)
EDITS = SettledFile(ADAPTER, "the edits of #8749 applied to main's text", conflicted=True)
STALE = SettledFile(
    "tools/process_groups/allowlist.txt", "regenerated from the merged tree", conflicted=False
)


def record(branch, source, settled=(), allowlist=LISTED):
    return MergeRecord(branch, source, MAIN, MAIN, MAIN, "Merge", settled, allowlist)


MERGED = (
    record("pg-ratchet", "main", (STALE,)),
    record("fsdp-fallback-warnings", "#8045", (EDITS, STALE)),
    record("fsdp-fallback-warnings", "#6258 as landed", (), None),
)

AT_80 = """\
main at c37fdf1f6 Import megatron-core 0.18.2
 Branch                  Merged                     Allowlist   Conflicts
 pg-ratchet              main c37fdf1f6             196 -> 204  none
   tools/process_groups/allowlist.txt
     merged cleanly but stale: regenerated from the merged tree
 fsdp-fallback-warnings  #8045 c37fdf1f6            196 -> 204  1 file
   megatron/core/distributed/fsdp/mcore_fsdp_adapter.py
     conflicted: the edits of #8749 applied to main's text
   tools/process_groups/allowlist.txt
     merged cleanly but stale: regenerated from the merged tree
                         #6258 as landed c37fdf1f6              none
"""

AT_52 = """\
main at c37fdf1f6 Import megatron-core 0.18.2
 Branch      Merged           Allowlist   Conflicts
 pg-ratchet  main c37fdf1f6   196 -> 204  none
   tools/process_groups/allowlist.txt
     merged cleanly but stale: regenerated from the
     merged tree
 fsdp-       #8045 c37fdf1f6  196 -> 204  1 file
 fallback-
 warnings
   megatron/core/distributed/fsdp/
   mcore_fsdp_adapter.py
     conflicted: the edits of #8749 applied to
     main's text
   tools/process_groups/allowlist.txt
     merged cleanly but stale: regenerated from the
     merged tree
"""


@pytest.mark.parametrize(
    ("width", "merged", "text"), [(80, MERGED, AT_80), (52, MERGED[:2], AT_52)]
)
def test_files_stand_on_lines_of_their_own(width, merged, text):
    console = Console(file=io.StringIO(), width=width)
    console.print(merge_table(merged, "main at c37fdf1f6 Import megatron-core 0.18.2"))
    assert [line.rstrip() for line in console.file.getvalue().splitlines()] == text.splitlines()
