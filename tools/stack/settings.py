"""Settings and variables that git runs with here, so that no setting of the user's counts."""

import os

# They would change what a command writes or answers.
PINNED = (
    "-c",
    "core.quotePath=false",
    "-c",
    "i18n.commitEncoding=UTF-8",
    "-c",
    "advice.graftFileDeprecated=false",
    "-c",
    "i18n.logOutputEncoding=UTF-8",
    "-c",
    "log.showSignature=false",
    "-c",
    "trailer.separators=:",
)

# For a command with an index of its own. A split index would leave a part of it in the repository,
# and a hook or a file-system monitor would be started there.
TEMPORARY_INDEX = (
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
)

# Replaced and grafted commits are this repository's own view: what is pushed is the true history.
# git warns of a graft file that it can open, even of an empty one.
TRUE_HISTORY = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": f"{os.devnull}/none"}
