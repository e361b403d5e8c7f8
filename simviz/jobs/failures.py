"""What a failure is called towards whoever waits."""

from __future__ import annotations

from simviz.exceptions import SimvizError


def is_mendable(error: BaseException) -> bool:
    """Whether an error says itself what a user can do about it.

    Parameters
    ----------
    error : BaseException
        What a worker left.

    Returns
    -------
    bool
        False for bugs, whose words are not for users.
    """
    return isinstance(error, SimvizError | ValueError | MemoryError)


def explain(error: BaseException) -> str:
    """A sentence for whoever waits.

    Parameters
    ----------
    error : BaseException
        What a worker left.

    Returns
    -------
    str
        Without anything of the inside, unless it is meant for users.

    Examples
    --------
    >>> explain(ValueError("Take fewer components."))
    'Take fewer components.'
    """
    if isinstance(error, MemoryError):
        return "There was not enough memory. Take a sample of the data or fewer components."
    if is_mendable(error):
        return str(error)
    return (
        f"Something went wrong inside simviz ({type(error).__name__}). This is a bug; "
        "the details are kept with the job."
    )
