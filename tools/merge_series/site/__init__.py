"""A static site of the stack that reviewers open from a folder, without a network."""
