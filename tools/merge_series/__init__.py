"""Keeps a stack of dependent pull requests in step with main by merge commits alone."""
