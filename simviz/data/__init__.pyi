from .collection.reader import read_collection as read_collection
from .description import (
    default_direction as default_direction,
    describe as describe,
    guess_space as guess_space,
    infer_query_side as infer_query_side,
)
from .health import check_health as check_health
from .limits import (
    ReadingLimits as ReadingLimits,
    get_limits as get_limits,
    reading_limits as reading_limits,
)
from .pairs import Items as Items, PairSet as PairSet
from .pairs_from_tables import (
    ReadResult as ReadResult,
    SkippedRow as SkippedRow,
    from_frame as from_frame,
    read_pairs as read_pairs,
    to_pairs as to_pairs,
)
from .roles import ColumnRoles as ColumnRoles, guess_roles as guess_roles
from .splitting import Split as Split, folds as folds, split as split
from .tables import Table as Table, read_table as read_table, table_from_frame as table_from_frame
from .writers import dump_pairs as dump_pairs, write_pairs as write_pairs
