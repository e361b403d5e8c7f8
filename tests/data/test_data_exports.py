import subprocess
import sys

import simviz.data


def test_every_public_name_is_found_and_listed():
    assert set(simviz.data.__all__) == set(dir(simviz.data))
    for name in simviz.data.__all__:
        assert getattr(simviz.data, name).__name__ == name


def test_importing_and_splitting_need_no_heavy_library():
    code = (
        "import sys, simviz.data as d; d.read_pairs; d.split; d.read_collection; d.write_pairs; "
        "heavy = {'pandas', 'pyarrow', 'PIL', 'torch', 'sklearn'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
