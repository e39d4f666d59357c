"""Carries the change to any Megatron tree: bases, edits and the branches built from them."""
