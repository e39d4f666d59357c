"""What the metadata of a checkpoint tells of its names; neither tensors nor torch are needed."""
