"""Every discovered method keeps scikit-learn's grammar and simviz's contract."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import simviz.methods
from simviz.base import EmbeddingModel, LinearPairModel, PairModel
from simviz.base.checks import fixtures, yield_checks
from simviz.methods import all_methods, get_method, method_id
from simviz.params import validate_params
from simviz.registry import find_classes
from simviz.relevance import Relevance

METHODS = all_methods()
#: Hundreds of fits need not choose between two kernels.
KERNEL = {"x_kernel": "rbf"}


def quick(method: str):
    """An instance fast enough for hundreds of fits."""
    cls = METHODS[method]
    allowed = cls._get_param_names()
    wanted = {"n_components": 4, "max_iter": 3, "hidden_units": 5, "embedding_size": 4}
    return cls(**{k: v for k, v in (wanted | KERNEL).items() if k in allowed})


VARIANTS = {m: quick(m) for m in METHODS}
VARIANTS |= {
    f"{m} shared": quick(m).set_params(shared=True)
    for m in METHODS
    if "shared" in METHODS[m]._get_param_names()
}
OURS = [
    pytest.param(check, id=f"{variant}-{name}")
    for variant, model in VARIANTS.items()
    for name, check in yield_checks(model)
]
SKLEARN = [
    pytest.param(model, check, id=f"{method}-{i}-{getattr(check, 'func', check).__name__}")
    for method in METHODS
    for i, (model, check) in enumerate(estimator_checks_generator(METHODS[method](), legacy=True))
    # Runs only where SCIPY_ARRAY_API is set in the environment; numpy arrays are all we take.
    if getattr(check, "func", check).__name__ != "check_array_api_input"
]


def test_classes_are_imported_by_their_names_and_cca_by_its_title():
    from simviz.methods import CCA

    assert CCA is METHODS["cca"]
    assert all(getattr(simviz.methods, cls.__name__) is cls for cls in METHODS.values())
    with pytest.raises(ImportError, match="NoMethod"):
        from simviz.methods import NoMethod  # noqa: F401


@pytest.mark.parametrize("base", [PairModel, EmbeddingModel, LinearPairModel])
def test_the_docs_say_which_methods_a_class_has_to_write(base):
    guide = (Path(__file__).parents[2] / "docs" / "add-a-method.md").read_text(encoding="utf-8")
    said = next(line for line in guide.splitlines() if "Derive from `PairModel`" in line)
    assert base.__abstractmethods__
    for name in base.__abstractmethods__:
        assert f"`{name}`" in said
        assert any(f"``{name}" in inspect.getdoc(one) for one in base.__mro__[:-1] if one.__doc__)


def test_every_method_of_a_paper_that_departs_from_it_has_its_preset():
    assert {m for m, cls in METHODS.items() if "paper" in cls.presets} == {
        "bm25", "cca", "cplsa", "hdlr", "heterogeneous_svd", "jplsa", "kernel_heterogeneous_svd",
        "mlc", "opca", "pamir", "s2net", "siamese_blstm", "ssi",
    }  # fmt: skip
    for cls in METHODS.values():
        for params in cls.presets.values():
            validate_params(cls(**params))
            assert not params.items() & cls().get_params().items(), "other than the defaults"


@pytest.mark.parametrize("check", OURS)
def test_contract(check):
    check()


@pytest.mark.parametrize(("model", "check"), SKLEARN)
@pytest.mark.filterwarnings("ignore:.*is more than the data can give:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_sklearn_grammar(model, check):
    known = model.get_params()
    few = {"max_iter": 2, "hidden_units": 5, "embedding_size": 4}
    if known.get("x_kernel") == "auto":
        few |= KERNEL
    model.set_params(**{name: value for name, value in few.items() if name in known})
    check(model)


@pytest.mark.parametrize("method", METHODS)
def test_what_stops_early_says_so(method):
    """Methods are judged by what they do with sets to watch that contradict one another."""
    model = METHODS[method]()
    allowed = model.get_params()
    few = {"n_components": 4, "max_iter": 12, "hidden_units": 5, "embedding_size": 4}
    model.set_params(**{name: value for name, value in few.items() if name in allowed})
    f = fixtures(model)[0]
    watches = "X_val" in inspect.signature(model.fit).parameters
    # What was learned, and unseen items, each with its own partners and with those of others:
    # one of them alone decides nothing where rounding does.
    watched = [(f.X, f.Y, shift) for shift in (0, 3)]
    n = f.X_new.shape[0] - 1
    watched += [(f.X_new[:n], f.Y_new[:n], shift) for shift in range(n)]

    def learned(X, Y, shift):
        partner = (np.arange(Y.shape[0]) + shift) % Y.shape[0]
        fitted = clone(model).fit(f.X, f.Y, f.relevance, X, Y[partner])
        return fitted.similarity(f.X_new, f.Y_new)

    found = (learned(*those) for those in watched if watches)
    first = next(found, None)
    assert model.tags.stops_early == any(not np.array_equal(first, other) for other in found)


def test_every_module_is_found():
    folder = Path(simviz.methods.__file__).parent
    modules = {p.stem for p in folder.glob("*.py") if not p.stem.startswith("_")}
    assert set(METHODS) == modules == {method_id(cls) for cls in METHODS.values()}
    names = [name for name, _ in yield_checks(quick("cca"))]
    assert len(names) == len(set(names)) > 50
    with pytest.raises(ValueError, match="Did you mean 'heterogeneous_svd'"):
        get_method("heterogenous_svd")
    assert {"bm25", "cca", "cl_lsi", "heterogeneous_svd", "lsa", "ssi", "tfidf_cosine"} <= modules


def test_two_classes_in_one_module_are_refused(tmp_path, monkeypatch):
    (tmp_path / "two_in_one").mkdir()
    (tmp_path / "two_in_one" / "__init__.py").touch()
    (tmp_path / "two_in_one" / "pair.py").write_text("class A(int): 1\nclass B(int): 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import two_in_one

    with pytest.raises(ImportError, match="exactly one public int"):
        find_classes(two_in_one, int)


def test_scoring_needs_a_relevant_pair():
    model = get_method("tfidf_cosine")().fit(np.eye(3))
    for none in (sp.csr_array((3, 3)), Relevance(sp.csr_array((3, 3)), unjudged="ignore")):
        with pytest.raises(ValueError, match="none among 0 judgments"):
            model.score(np.eye(3), None, none)


@pytest.mark.parametrize("method", ["cca", "heterogeneous_svd", "pca", "lsa", "mlc"])
def test_values_whose_squares_overflow_are_refused(method):
    X = np.eye(3)
    for dtype, value in ((np.float32, 1e30), (np.float64, 1e300)):
        for A, B in ((value * X, X), (X, -value * X)):
            with pytest.raises(ValueError, match=r"overflow for values as large as 1e\+30"):
                quick(method).fit(A.astype(dtype), B.astype(dtype))


@pytest.mark.parametrize("method", [m for m in METHODS if METHODS[m].tags.space == "one"])
@pytest.mark.filterwarnings("ignore:.*is more than the data can give:UserWarning")
def test_one_side_may_be_sparse_and_the_other_dense(method):
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(1.0, (2, 12, 6)).astype(float)
    expected = quick(method).fit(X, Y).similarity(X, Y)
    for A, B in ((sp.csr_array(X), Y), (X, sp.csr_matrix(Y)), (sp.coo_matrix(X), Y)):
        S = quick(method).fit(A, B).similarity(A, B)
        np.testing.assert_allclose(S, expected, atol=1e-7)


@pytest.mark.parametrize(
    "method",
    ["lsa", "pca", "cl_lsi", "cca", "opca", "heterogeneous_svd", "kernel_cca",
     "kernel_heterogeneous_svd"],
)  # fmt: skip
def test_more_components_than_possible_are_capped_with_both_numbers(method):
    X = np.random.default_rng(0).standard_normal((30, 7))
    with pytest.warns(UserWarning, match=r"n_components=50 .* \d+ are kept"):
        model = METHODS[method](50).fit(X, X)
    assert model.n_components_ < 50
    assert model.transform(X).shape == (30, model.n_components_)
