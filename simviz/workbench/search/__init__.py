"""The Search page."""
