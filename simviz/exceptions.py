"""Errors raised at the edges of the package.

Estimators raise ``ValueError`` as scikit-learn expects; reading, storing and
running raise a child of `SimvizError`, whose text is fit to be shown as it is.
"""


class SimvizError(Exception):
    """Base of every error that a user can mend; its text says how."""


class DatasetError(SimvizError, ValueError):
    """Input data cannot be understood; names the file, the place and the remedy."""


class StoreError(SimvizError):
    """A saved pipeline or run cannot be read or written."""


class MissingLibraryError(SimvizError, ImportError):
    """A library of an extra is not installed; names the command that installs it."""


class JobCancelled(SimvizError):  # noqa: N818 -- a wish granted, not an error
    """A job was asked to stop before it had a result."""


class JobError(SimvizError):
    """A job cannot be taken on or found; its text says why and what to do."""
