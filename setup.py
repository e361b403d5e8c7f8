"""Copies the app's thin files into the wheel, so that an installed copy serves the same pages."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SITE = ("app.py", "pages/*.py", ".streamlit/config.toml", "docs/home-*.png")


class BuildWithSite(build_py):
    """Build the package, and `simviz/workbench/site/` beside its modules."""

    def run(self) -> None:
        """Copy after the modules; an editable install runs the files at the top."""
        super().run()
        if self.editable_mode:
            return
        for pattern in SITE:
            for source in Path().glob(pattern):
                target = Path(self.build_lib, "simviz/workbench/site", source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


setup(cmdclass={"build_py": BuildWithSite})
