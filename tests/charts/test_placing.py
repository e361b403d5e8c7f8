import numpy as np
from hypothesis import given, settings, strategies as st

from simviz.charts._labels import Frame, Occupancy, spread_order

QUIET = settings(deadline=None, derandomize=True, max_examples=40)


@QUIET
@given(
    st.lists(
        st.tuples(st.floats(-20, 320), st.floats(-20, 220), st.floats(1, 150), st.floats(1, 60)),
        max_size=60,
    )
)
def test_claimed_boxes_are_inside_and_apart_and_refused_ones_are_not(boxes):
    room = Occupancy(300, 200)
    taken = []
    for left, top, width, height in boxes:
        box = (left, top, left + width, top + height)
        inside = box[0] >= 0 and box[1] >= 0 and box[2] <= 300 and box[3] <= 200
        apart = all(
            box[0] >= b[2] or b[0] >= box[2] or box[1] >= b[3] or b[1] >= box[3] for b in taken
        )
        assert room.claim(*box) == (inside and apart)
        if inside and apart:
            taken.append(box)


def test_a_text_tries_all_sides_of_its_dot():
    above, below = (160, 180, 240, 190), (160, 210, 240, 220)
    right, left = (240, 195, 250, 205), (150, 195, 160, 205)
    for taken, place in (
        ([], "top center"),
        ([above], "bottom center"),
        ([above, below], "middle right"),
        ([above, below, right], "middle left"),
        ([above, below, right, left], None),
    ):
        room = Occupancy(400, 400)
        assert all(room.claim(*box) for box in taken)
        assert room.claim_text(200, 200, 60, 12, 6) == place
    # A larger thing in its middle is kept off too: 20 / 1.6 + 1 pixels.
    room = Occupancy(400, 400)
    assert room.claim_square(200, 200, 24)
    assert room.claim_text(200, 200, 60, 12, 6) is None
    assert room.claim_text(200, 200, 60, 12, 20) == "top center"


def test_a_frame_shows_every_point_at_one_scale():
    points = np.random.RandomState(0).normal(size=(100, 2)) * [5, 1] + 30
    frame = Frame.around(points, 800, 500, 20)
    pixels = frame.pixels(points)
    assert (pixels >= 20 - 1e-9).all() and (pixels <= [780 + 1e-9, 480 + 1e-9]).all()
    assert np.isclose(np.ptp(pixels[:, 0]), 760)
    across, up = np.ptp(frame.x_range), np.ptp(frame.y_range)
    assert np.isclose(across / up, 800 / 500)
    higher = frame.pixels(np.array([[30.0, 31.0], [30.0, 30.0]]))
    assert higher[0, 1] < higher[1, 1]


def test_a_frame_around_one_place_is_finite():
    frame = Frame.around(np.zeros((3, 2)), 300, 300, 20)
    assert frame.x_range == [-150, 150]


def test_spread_order_covers_the_map_early():
    rng = np.random.RandomState(0)
    # Nine tenths in one clump, the rest in four far corners.
    corners = np.array([[9, 9], [-9, 9], [9, -9], [-9, -9]]) + rng.normal(size=(4, 2)) * 0.1
    points = np.concatenate([rng.normal(size=(100, 2)) * 0.2, corners])
    order = spread_order(points, 50)
    assert set(order[:5]) >= {100, 101, 102, 103}
    assert len(set(order)) == 50
    assert len(spread_order(np.zeros((5, 2)), 5)) == 1 and len(spread_order(points[:0], 3)) == 0
