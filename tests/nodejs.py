"""The Node.js that Playwright brings: it runs the ES modules of the canvas as they stand."""

from pathlib import Path

import playwright

NODE = Path(playwright.__file__).parent / "driver" / "node"
