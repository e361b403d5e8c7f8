"""What leaves must give, elsewhere, the similarities that simviz gives."""

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from simviz.data import PairSet
from simviz.data.pairs import Items
from simviz.exports import dense_modules, numpy_files, onnx_graphs, why_not
from simviz.features import MultiHot, TextCounts, Tfidf, Vectors
from simviz.methods import get_method
from simviz.pipeline import BlendPipeline, PairPipeline, default_pipeline
from simviz.relevance import Relevance

X = ["a red heart", "the blue car", "a green tree", "one small bird", "old moon", "RED car"]
Y = ["corazón rojo", "coche azul", "árbol verde", "un pájaro", "luna vieja", "coche rojo"]
NEW = ["red moon", "", "nothing_known zzz", "a blue heart, a blue tree"]


@pytest.fixture(scope="module")
def pairs():
    return PairSet.from_texts(X, Y)


def unpacked(content, folder):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
    return folder


#: A Python that cannot import simviz, and answers with similarities by the exported files.
ELSEWHERE = """
import json, os, runpy, sys

sys.modules["simviz"] = None
for line in sys.stdin:
    folder, x, y = json.loads(line)
    os.chdir(folder)
    model = runpy.run_path("embed.py")["Model"](".")
    print(json.dumps(model.similarity(x, y).tolist()), flush=True)
"""


@pytest.fixture(scope="module")
def elsewhere():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", ELSEWHERE], **pipes) as python:

        def similarity(folder, x, y):
            python.stdin.write(json.dumps([str(folder), x, y]) + "\n")
            python.stdin.flush()
            return np.array(json.loads(python.stdout.readline()))

        yield similarity


FEATURES = {
    "words": (Tfidf(), Tfidf(tf="log2", normalize=False)),
    "characters": (Tfidf("char_wb", (2, 4), tf="log1p"), TextCounts("char", (1, 3))),
    "pairs of words": (TextCounts("word", (1, 2), stop_words=["a"]), TextCounts(lowercase=False)),
    "keywords": (MultiHot(" "), Tfidf(stop_words="english")),
    "unseen terms": (Tfidf(n_unseen=8), TextCounts(n_unseen=4)),
}


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize("method", ["cca", "s2net", "heterogeneous_svd"])
def test_arrays_give_the_same_similarities_without_simviz(
    pairs, tmp_path, features, method, elsewhere
):
    pipeline = PairPipeline(get_method(method)(3), *features).fit(pairs)
    folder = unpacked(numpy_files(pipeline), tmp_path)
    y = [*Y, "luna roja"]
    expected = pipeline.similarity(texts(NEW), texts(y))
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(elsewhere(folder, NEW, y), expected, atol=2e-6, rtol=2e-6)


def texts(content):
    return Items([f"{i}" for i in range(len(content))], content, "text")


@pytest.mark.parametrize("normalize", [True, False])
def test_arrays_of_vectors(tmp_path, normalize, elsewhere):
    rng, ids = np.random.default_rng(0), [f"{i}" for i in range(20)]
    x, y = (rng.standard_normal((20, d)).astype(np.float32) for d in (6, 5))
    sides = (Items(ids, content, "vector") for content in (x, y))
    pairs = PairSet(*sides, Relevance.identity(20))
    pipeline = PairPipeline(get_method("cca")(4), Vectors(normalize), Vectors(normalize))
    folder = unpacked(numpy_files(pipeline.fit(pairs)), tmp_path)
    found = elsewhere(folder, x.tolist(), y.tolist())
    np.testing.assert_allclose(found, pipeline.similarity(pairs.x, pairs.y), atol=3e-6)


#: The lines of the README, where simviz cannot be imported.
ALONE = """
import sys
sys.modules["simviz"], items = None, {items!r}
{lines}
print(embedding.tolist())
"""


@pytest.mark.parametrize("method", ["cca", "s2net", "heterogeneous_svd"])
def test_onnx_graphs_give_the_same_vectors(pairs, tmp_path, method):
    pytest.importorskip("onnxruntime", reason="runs the exported graphs")
    options = {} if method == "heterogeneous_svd" else {"shared": False}
    pipeline = default_pipeline(method, pairs, n_components=3, **options).fit(pairs)
    folder = unpacked(onnx_graphs(pipeline), tmp_path)
    items, readme = [*X, *NEW], (folder / "README.txt").read_text()
    assert "embedded as v @ projection - offset" in readme
    lines = [line[4:] for line in readme.splitlines() if line[:4] == "    "]
    alone = [sys.executable, "-c", ALONE.format(items=items, lines="\n".join(lines))]
    found = np.array(json.loads(subprocess.check_output(alone, cwd=folder)))
    expected = pipeline.model_.coordinates_of(pipeline.rows(items, "x"), "x")
    assert (expected[len(X) + 1] == 0).all() and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_modules_continue_a_sentence_encoder(pairs, tmp_path):
    pytest.importorskip("sentence_transformers", reason="an optional library")
    from sentence_transformers.sentence_transformer.modules import Dense
    from torch import from_numpy
    from torch.nn.functional import normalize

    pipeline = default_pipeline("cca", pairs, features="pretrained", n_components=3).fit(pairs)
    folder = unpacked(dense_modules(pipeline), tmp_path)
    encoded = from_numpy(pipeline.x_features_.transform(X))
    module = Dense.load(str(folder / "x"))
    found = module({"sentence_embedding": encoded})["sentence_embedding"].detach()
    expected = pipeline.coordinates(pairs.x, pairs.y)[0]
    np.testing.assert_allclose(normalize(found).numpy(), expected, atol=1e-5)
    assert (folder / "y" / "model.safetensors").exists()
    assert "all-MiniLM-L6-v2" in (folder / "README.txt").read_text()


def test_the_same_model_gives_the_same_bytes(pairs):
    pipeline = default_pipeline("cca", pairs, n_components=2).fit(pairs)
    assert numpy_files(pipeline) == numpy_files(pipeline)


def odd_pipelines(pairs):
    """One that bends its vectors, topics, a linear one, and a blend."""
    bent = PairPipeline(get_method("s2net")(2, activation="tanh"), Tfidf()).fit(pairs)
    topics = default_pipeline("plsa", pairs, n_components=2).fit(pairs)
    linear = default_pipeline("cca", pairs, n_components=2).fit(pairs)
    blend = BlendPipeline(linear, default_pipeline("tfidf_cosine", pairs), 0.5).fit(pairs)
    return bent, topics, linear, blend


def test_what_cannot_leave_says_why(pairs):
    bent, topics, linear, blend = odd_pipelines(pairs)
    refused = [(bent, "tanh"), (topics, "not one matrix"), (blend, "blend")]
    for method in ("tfidf_cosine", "bm25", "query_expansion", "ngram_matcher"):
        refused.append((default_pipeline(method, pairs).fit(pairs), "compares terms themselves"))
    for pipeline, word in refused:
        for form, write in (("numpy", numpy_files), ("onnx", onnx_graphs)):
            assert word in why_not(pipeline, form)
            with pytest.raises(ValueError, match=word):
                write(pipeline)
    assert why_not(linear, "numpy") is None
    assert "pretrained" in why_not(linear, "dense")
