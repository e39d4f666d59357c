"""A read of the global process groups, and the order of its kinds."""

from typing import NamedTuple

# How hard a read of each kind stands in the way of a second grid, worst first. A shim is as bad as
# an accessor: it reads every group at once. So is a place that cannot be resolved: it may read any.
# A fallback is passed by a caller that hands its groups in, a warned one says so where a caller
# does not, and a guarded read does not happen where the global grid was never built.
SEVERITY = {
    "accessor": 0,
    "shim": 0,
    "unresolved": 0,
    "fallback": 1,
    "warned": 2,
    "guarded": 3,
}
LEVELS = 4

# The scope outside all definitions.
MODULE_SCOPE = "<module>"


class Read(NamedTuple):
    """A read, without its line: moving code within its definition leaves it the same.

    Attributes:
        path: POSIX path from the root of the tree.
        scope: Dotted names of the enclosing definitions, ``<module>`` outside all of them. The
            second definition of one name in one scope is ``name#2``.
        function: The ``parallel_state`` function or variable that is read, ``parallel_state`` for
            the module handed on as a value, ``ProcessGroupCollection.use_mpu_process_groups``, or
            ``resolve_process_groups``.
        kind: ``accessor``, ``shim``, ``unresolved``, ``fallback``, ``warned`` or ``guarded``.
    """

    path: str
    scope: str
    function: str
    kind: str


# The line numbers of each read, as many as it has places.
Lines = dict[Read, tuple[int, ...]]
