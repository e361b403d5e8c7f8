"""The curves of the Compare page."""
