"""``python -m simviz`` is the command ``simviz``."""

import sys

from simviz.cli import main

sys.exit(main())
