"""Several files that belong together: items of two sides, judgments, splits."""
