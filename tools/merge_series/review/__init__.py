"""What reviewers read of a stack: one PR's text and lines alone, and where review links stand."""
