"""Objects that are kept in memory until git needs them, and are then stored all at once."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha1

from gitdb.base import OStream
from gitdb.pack import PackEntity


class ObjectBuffer:
    """Objects of a repository whose ids are SHA-1; several threads may add to them.

    A process or even a file for each would take longer than to make them.

    Args:
        store: Stores the objects of a pack; it is told how many they are.
    """

    def __init__(self, store: Callable[[bytes, int], None]) -> None:
        self._store = store
        self._waiting: dict[str, tuple[bytes, bytes]] = {}
        self._is_held = False
        self._lock = threading.RLock()

    def add(self, kind: bytes, content: bytes) -> str:
        """Take in an object and give its id; it is stored at once unless objects are held."""
        oid = sha1(b"%b %d\0%b" % (kind, len(content), content), usedforsecurity=False).hexdigest()
        with self._lock:
            self._waiting[oid] = kind, content
            if not self._is_held:
                self.flush()
        return oid

    def get(self, oid: str) -> bytes | None:
        """The bytes of an object that is not stored yet."""
        found = self._waiting.get(oid)
        return None if found is None else found[1]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold objects until the end or the next ``flush``; those left by an exception are lost."""
        self._is_held = True
        try:
            yield
            self.flush()
        finally:
            self._is_held = False
            self._waiting.clear()

    def flush(self) -> None:
        """Store what was added."""
        with self._lock:
            if self._waiting:
                pack = io.BytesIO()
                objects = [
                    OStream(bytes.fromhex(oid), kind, len(content), io.BytesIO(content))
                    for oid, (kind, content) in self._waiting.items()
                ]
                PackEntity.write_pack(objects, pack.write)
                self._store(pack.getvalue(), len(objects))
                self._waiting.clear()
