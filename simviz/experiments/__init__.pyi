from ._experiment import (
    SIZES as SIZES,
    Experiment as Experiment,
    Paper as Paper,
    Size as Size,
    all_experiments as all_experiments,
    get_experiment as get_experiment,
)
from ._findings import (
    SIGNS as SIGNS,
    VERDICTS as VERDICTS,
    Claim as Claim,
    ClaimVerdict as ClaimVerdict,
    Figure as Figure,
    Findings as Findings,
    Series as Series,
    Table as Table,
    cell_text as cell_text,
    known_findings as known_findings,
    tables_csv as tables_csv,
    to_markdown as to_markdown,
)
from ._parts import (
    Parts as Parts,
    read_parts as read_parts,
)
from ._progress import (
    Progress as Progress,
)
