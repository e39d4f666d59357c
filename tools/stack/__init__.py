"""What every tool knows: the declared stack, the repository it lives in, and how to speak."""

import os

VERSION = "0.1.0"

# GitPython looks for git when it is imported, and fails there if there is none.
# Told to be quiet, it fails at the first command, where the console explains.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

# It asks git for its version then, and git has no answer where it is at work on a submodule.
os.environ.pop("GIT_INTERNAL_SUPER_PREFIX", None)
