"""What every tool knows: the declared stack, the repository it lives in, and how to speak."""
