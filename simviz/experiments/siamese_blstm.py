"""Table 3 of Neculoiu et al. (2016): what each augmentation teaches a Siamese network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simviz.data.pairs import PairSet
from simviz.exceptions import DatasetError
from simviz.experiments._experiment import BLSTM, Experiment, Size
from simviz.experiments._findings import Cell, Findings, Table
from simviz.experiments._progress import Progress
from simviz.experiments._titles import (
    Material,
    demo_material,
    part_of_demo,
    read_material,
)
from simviz.experiments._titles_table import BASELINE, ROWS, Table3, hits, table

__all__ = [
    "BASELINE",
    "ROWS",
    "Material",
    "SiameseTable",
    "Table3",
    "demo_material",
    "hits",
    "part_of_demo",
    "read_material",
    "table",
]

#: Settings of the network by size.
_SETTINGS: Mapping[Size, Mapping[str, Any]] = {
    "demo": {"hidden_units": 48, "max_iter": 12, "patience": 4},
    "full": {"hidden_units": 64, "max_iter": 40, "patience": 8},
}
_SYNONYMS: Mapping[Size, int] = {"demo": 300, "full": 1_000}
_EVERY = 3  # n-th group of the demo
_GROUPS, _TITLES = 500, 6  # of a folder's taxonomy


class SiameseTable(Experiment[Material]):
    """Hits of a network that learns from more and more augmentation."""

    title = "What each augmentation teaches a network that reads titles"
    paper = BLSTM
    shown_as = "Table 3"
    sentence = (
        "Does a network find the right title despite typos, synonyms and extra words, if it was "
        "shown such texts?"
    )
    needs = "titles in groups"
    demo = "job_titles"
    sets = ("esco_titles", "onet_titles")
    methods = ("ngram_matcher", "siamese_blstm")
    minutes = 4.0

    def load(
        self,
        path: str | Path | None = None,
        *,
        size: Size = "demo",
        seed: int = 0,
        n_train: int | None = None,
        n_pool: int | None = None,
    ) -> Material:
        """Read a taxonomy.

        Parameters
        ----------
        path : str or Path, optional
            Folder with ``titles.tsv.gz`` (title, group_id); the bundled demo
            when omitted.
        size : {"demo", "full"}, default="demo"
            Every third group of the demo, or all; of a folder, 500 groups of
            at most six titles that have one group, or all.
        seed : int, default=0
            Of the draw of groups.
        n_train : int, optional
            Groups to draw instead.
        n_pool : int, optional
            Not used: the tests are made of the titles.

        Returns
        -------
        Material
            Titles and what is known about how people write them.
        """
        if path is None:
            return part_of_demo(_EVERY) if size == "demo" else demo_material()
        file = Path(path) / "titles.tsv.gz"
        if not file.exists():
            raise DatasetError(f"{Path(path).name} has no titles.tsv.gz (title, group_id).")
        return read_material(
            file,
            n_groups=n_train or (_GROUPS if size == "demo" else None),
            most_titles=_TITLES if size == "demo" else None,
            unambiguous=size == "demo",
            synonyms=demo_material().synonyms,
            seed=seed,
        )

    def refusal(self, pairs: PairSet) -> str:
        """Why it cannot be run on these pairs.

        Parameters
        ----------
        pairs : PairSet
            What somebody brought.

        Returns
        -------
        str
            A sentence: pairs do not say which texts are the titles.
        """
        return "It needs a taxonomy, which pairs do not tell. Run it from the command line."

    def run(
        self,
        data: Material,
        *,
        size: Size = "demo",
        seed: int = 0,
        methods: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Findings:
        """Train and test the rows of the table.

        Parameters
        ----------
        data : Material
            A taxonomy.
        size : {"demo", "full"}, default="demo"
            How large the network is and how long it learns.
        seed : int, default=0
            Of tests, augmentation and networks.
        methods : sequence of str, optional
            Both are always run; names are checked.
        progress : Progress, optional
            Hears how far it is, and may stop it.

        Returns
        -------
        Findings
            The table and its claims.
        """
        self.chosen(methods)
        progress = progress or Progress()
        found = table(
            data, _SETTINGS[size], most_synonyms=_SYNONYMS[size], seed=seed, progress=progress
        )
        wide = found.wide()
        n = found.frame.drop_duplicates("test").set_index("test")["n"]
        columns = ("row", "texts", *(f"{test} (n = {n[test]:,})" for test in wide.columns))
        rows: list[tuple[Cell, ...]] = [
            (str(row), found.sizes[str(row)], *(float(value) for value in values))
            for row, values in zip(wide.index, wide.to_numpy(), strict=True)
        ]
        told = ", ".join(f"{name} {value}" for name, value in _SETTINGS[size].items())
        return self.findings(
            data.name,
            f"{len(data.titles):,} titles",
            size,
            seed,
            tables=[
                Table(
                    "Table 3: share of texts whose nearest title stands in the right group",
                    columns,
                    tuple(rows),
                    "The paper's titles are not public; its numbers are of other tests.",
                )
            ],
            claims=found.claims,
            notes=[
                f"Network: {told}.",
                f"Looking titles up in the taxonomy can reach {found.ceiling:.3f}.",
            ],
        )
