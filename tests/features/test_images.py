import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from simviz.datasets import load_demo
from simviz.features import images as images_module
from simviz.features.images import (
    ImageDescriptor,
    area_weights,
    block_histograms,
    oriented_energy,
    tent_weights,
)


def ramp(angle, size=32):
    """Light grows evenly in the direction of an angle in degrees."""
    y, x = np.mgrid[:size, :size] - size / 2
    a = np.deg2rad(angle)
    return ((x * np.cos(a) + y * np.sin(a)) / size + 0.5).astype(np.float32)[None, None]


@pytest.mark.parametrize(("signed", "angle", "expected"), [
    (False, 0, 0), (False, 180, 0), (False, 40, 2), (False, 90, 4.5), (False, -20, 8),
    (True, 0, 0), (True, 180, 4.5), (True, 80, 2), (True, -40, 8),
])  # fmt: skip
def test_a_ramp_has_one_orientation(signed, angle, expected):
    inner = oriented_energy(ramp(angle), 9, signed)[0, :, 1:-1, 1:-1]
    share = inner.mean(axis=(1, 2)) / inner.mean(axis=(1, 2)).sum()
    wanted = np.zeros(9)
    low = int(np.floor(expected))
    wanted[low] += 1 - (expected - low)
    wanted[(low + 1) % 9] += expected - low
    np.testing.assert_allclose(share, wanted, atol=1e-3)


def test_energy_of_a_pixel_is_its_gradient():
    rng = np.random.default_rng(0)
    image = rng.random((2, 1, 9, 7), dtype=np.float32)
    energy = oriented_energy(image, 6, signed=False)
    dx = image[:, 0, 1:-1, 2:] - image[:, 0, 1:-1, :-2]
    dy = image[:, 0, 2:, 1:-1] - image[:, 0, :-2, 1:-1]
    np.testing.assert_allclose(energy.sum(axis=1)[:, 1:-1, 1:-1], np.hypot(dx, dy), rtol=1e-5)


def test_strongest_channel_counts():
    red = np.concatenate([ramp(0), 0 * ramp(0), 0.2 * ramp(90)], axis=1)
    np.testing.assert_array_equal(
        oriented_energy(red, 9, signed=False), oriented_energy(ramp(0), 9, signed=False)
    )


def test_blocks_are_normalised_and_clipped():
    energy = np.random.default_rng(0).random((3, 9, 64, 64), dtype=np.float32) ** 8
    blocks = block_histograms(energy, 16).reshape(3, 9, 36)
    np.testing.assert_allclose(np.linalg.norm(blocks, axis=2), 1, rtol=1e-5)
    one = np.zeros((1, 9, 64, 64), dtype=np.float32)
    one[:, 0] = 1  # one orientation in each of four cells: 0.5 each, all clipped to the same
    blocks = block_histograms(one, 16).reshape(9, 36)
    np.testing.assert_allclose(np.sort(blocks, axis=1)[:, -4:], 0.5, rtol=1e-5)
    for size, n_columns in ((60, 4 * 8), (20, 2)):  # cells that fit, and one
        assert block_histograms(np.ones((1, 2, size, size), np.float32), 16).shape[1] == n_columns


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 40))
def test_weights_average_over_equal_areas(n_pixels, n_cells):
    weights = area_weights(n_pixels, n_cells)
    assert weights.shape == (n_cells, n_pixels)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(weights.sum(axis=0), n_cells / n_pixels, rtol=1e-5)


def test_tents_share_every_inner_pixel_in_full():
    weights = tent_weights(64, 8)
    np.testing.assert_allclose(weights.sum(axis=0)[4:-4], 1, rtol=1e-5)
    assert weights.sum(axis=0).min() > 0.5


grey = arrays(np.uint8, st.tuples(st.integers(1, 4), st.just(16), st.just(20)))
colour = arrays(np.uint8, st.tuples(st.integers(1, 4), st.just(16), st.just(20), st.just(3)))


@settings(max_examples=40)
@given(st.one_of(grey, colour), st.sampled_from(["auto", True, False]))
def test_rows_have_length_one_or_are_empty(images, color):
    descriptor = ImageDescriptor(cell_sizes=(8,), size=32, color=color)
    rows = descriptor.fit_transform(images)
    lengths = np.linalg.norm(rows.astype(float), axis=1)
    assert rows.dtype == np.float32
    assert rows.shape == (len(images), len(descriptor.get_feature_names_out()))
    assert (rows >= 0).all()
    assert np.all(np.isclose(lengths, 1, atol=1e-4) | (lengths == 0))


def test_light_and_colour_parts_by_hand():
    image = np.zeros((1, 64, 64), dtype=np.uint8)
    image[:, :, 48:] = 255  # a quarter is light: 0.75 above the mean, the rest 0.25 below
    rows = ImageDescriptor(cell_sizes=(), intensity=4).fit_transform(image)[0]
    lighter, darker = rows[:16].reshape(4, 4), rows[16:].reshape(4, 4)
    np.testing.assert_allclose(lighter[:, 3] / darker[:, 0], 3, rtol=1e-5)
    assert (lighter[:, :3] == 0).all()
    assert (darker[:, 3] == 0).all()

    image = np.zeros((1, 64, 64, 3), dtype=np.uint8)
    image[:, :16] = [255, 0, 130]  # a quarter
    colors = ImageDescriptor(cell_sizes=(), intensity=0).fit_transform(image)[0]
    np.testing.assert_array_equal(np.flatnonzero(colors), [0, 3 * 16 + 0 * 4 + 2])
    np.testing.assert_allclose(colors[colors > 0], np.sqrt([0.75, 0.25]), rtol=1e-6)


@pytest.mark.parametrize("level", [0, 77, 255])
@pytest.mark.parametrize("side", [64, 50, 100])
def test_image_of_one_grey_is_an_empty_row(level, side):
    flat = np.full((2, side, side), level, dtype=np.uint8)
    assert not ImageDescriptor().fit_transform(flat).any()


def test_colour_counts_only_where_a_training_image_has_some():
    grey = np.random.default_rng(0).integers(0, 255, (2, 64, 64, 1), dtype=np.uint8)
    noisy = np.repeat(grey, 3, axis=3)
    noisy[..., 0] ^= 3
    tinted = np.repeat(grey, 3, axis=3)
    tinted[0, :9, :9] = [200, 0, 0]
    assert not ImageDescriptor().fit(noisy).color_
    assert ImageDescriptor().fit(tinted).color_
    assert ImageDescriptor(color=True).fit(grey[..., 0]).color_
    plain = ImageDescriptor().fit(grey[..., 0])
    np.testing.assert_allclose(
        plain.transform(np.repeat(grey, 3, axis=3)), plain.transform(grey[..., 0]), atol=1e-3
    )


def test_size_of_an_image_hardly_matters():
    small = load_demo("icons").y.content[:40]
    large = np.repeat(np.repeat(small, 2, axis=1), 2, axis=2)
    descriptor = ImageDescriptor().fit(small)
    np.testing.assert_allclose(descriptor.transform(large), descriptor.transform(small), atol=1e-5)


def test_blocks_of_images_do_not_change_the_rows(monkeypatch):
    icons = load_demo("icons").y.content[:10]
    rows = ImageDescriptor().fit_transform(icons)
    monkeypatch.setattr(images_module, "BLOCK_VALUES", 3 * 64 * 64)
    np.testing.assert_allclose(ImageDescriptor().fit_transform(icons), rows, atol=1e-6)
    np.testing.assert_allclose(
        ImageDescriptor().fit(icons).transform(icons[4:5])[0], rows[4], atol=1e-6
    )


def test_signed_tells_dark_on_light_from_light_on_dark():
    icons = load_demo("icons").y.content[:5]
    for signed, same in ((False, True), (True, False)):
        descriptor = ImageDescriptor(intensity=0, signed=signed).fit(icons)
        rows, inverse = descriptor.transform(icons), descriptor.transform(255 - icons)
        assert np.allclose(rows, inverse, atol=1e-3) is same


def test_no_images_give_a_matrix_without_rows():
    descriptor = ImageDescriptor().fit(np.zeros((1, 8, 8), dtype=np.uint8))
    assert descriptor.transform(np.zeros((0, 8, 8), dtype=np.uint8)).shape == (0, 2216)


@pytest.mark.parametrize(
    ("options", "images", "message"),
    [
        ({}, np.zeros((2, 8, 8)), r"takes a uint8 array.*got float64 of shape \(2, 8, 8\)"),
        ({}, np.zeros((8, 8), dtype=np.uint8), r"image\[np.newaxis\]"),
        ({}, np.zeros((1, 8, 8, 4), dtype=np.uint8), r"\(1, 8, 8, 4\)"),
        ({}, np.zeros((1, 0, 8), dtype=np.uint8), "takes a uint8 array"),
        ({"cell_sizes": (8, 100)}, np.zeros((1, 8, 8), dtype=np.uint8), "from 2 to size=64"),
        ({"cell_sizes": (8, 8)}, np.zeros((1, 8, 8), dtype=np.uint8), "different whole numbers"),
        ({"cell_sizes": (), "intensity": 0}, np.zeros((1, 8, 8), dtype=np.uint8), "Nothing is"),
        ({"orientations": 1}, np.zeros((1, 8, 8), dtype=np.uint8), "orientations"),
        ({"color": "yes"}, np.zeros((1, 8, 8), dtype=np.uint8), "color"),
    ],
)
def test_errors_say_what_to_do(options, images, message):
    with pytest.raises(ValueError, match=message):
        ImageDescriptor(**options).fit(images)
