"""The process-group allowlist: which places of ``megatron/core`` read the global process groups.

Standard library only, and Python 3.10: these files also run inside the fork, as
``python tools/process_groups check``.
"""

VERSION = "0.1.0"  # of all the tools; a test sees that they agree
