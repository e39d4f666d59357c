"""What this tool raises for an input it cannot use."""


class ProcessGroupsError(Exception):
    """One line that names the file, the place, what was found and what to do."""


class ScanError(ProcessGroupsError):
    """A file of the tree that cannot be read as Python."""


class AllowlistError(ProcessGroupsError, ValueError):
    """An allowlist that cannot be read, or reads that cannot be written as one."""
