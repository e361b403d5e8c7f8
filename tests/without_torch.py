"""Train every method as if no extra were installed: python tests/without_torch.py [MODEL].

MODEL is a saved Siamese BLSTM. Any error ends it; the last line counts the methods.
"""

import sys
import warnings


class Without:
    """Finds what another finder does, but for PyTorch and icons."""

    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        is_extra = name in ("torch", "fontawesomefree")
        return None if is_extra else self.finder.find_spec(name, path, target)


def main(models):
    """Train, compare, draw and search; load what cannot be used."""
    sys.meta_path[:] = map(Without, sys.meta_path)
    import numpy as np

    import simviz
    from simviz.exceptions import MissingLibraryError
    from simviz.methods.s2net import S2Net

    def refused(call, *arguments, extra="neural"):
        try:
            call(*arguments)
        except MissingLibraryError as error:
            return f'pip install "simviz[{extra}]"' in str(error)
        return False

    warnings.simplefilter("ignore")
    texts = [f"{a} {b}" for a in ("red", "blue", "old", "new") for b in ("car", "bus", "tram")]
    pairs = simviz.from_frame(x=texts, y=[f"the {text}" for text in texts]).pairs
    X = np.random.default_rng(0).standard_normal((40, 4))
    vectors = simviz.from_frame(x=X, y=X + 0.1).pairs
    for method, cls in simviz.all_methods().items():
        data = vectors if cls.tags.input == "pretrained" else pairs
        pipeline = simviz.default_pipeline(method, data)
        if "max_iter" in pipeline.model.get_params():
            pipeline.set_params(model__max_iter=2)
        if method == "siamese_blstm":
            assert refused(pipeline.fit, data)
        else:
            assert pipeline.fit(data).similarity(data.x, data.y).shape == data.shape, method
    for params in ({"device": "cuda"}, {"precision": "bfloat16"}):
        assert refused(S2Net(2, **params).fit, X, X)
    assert all(refused(simviz.load_pipeline, model) for model in models)
    assert refused(simviz.load_demo, "icons", extra="demos")
    result = simviz.compare(pairs, ["bm25", "opca"])
    result.save("report.html")
    simviz.draw(result.best, pairs)
    result.best.index(pairs.y).search(["red"])
    sys.stdout.write(f"{len(simviz.all_methods())} methods found in the installed package\n")


if __name__ == "__main__":
    main(sys.argv[1:])
