"""What the pages share; never discovered as a page itself."""
