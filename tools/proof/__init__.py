"""Shows that the change works: one set of tests on an unmodified tree and on the fork."""
