"""What fits, for tests to draw: windows, convolutions, tensors of indices."""

from hypothesis import strategies as st


@st.composite
def windows(draw, most_rank=3, most_taps=5, room=(40, 11, 4)):
    """A window that fits: (spatial, kernel, strides, dilations, pads).

    Along an axis it has up to ``most_taps``, and 2 in three dimensions; the image is up to
    ``room[rank - 1]`` larger than what the window needs.
    """
    rank = draw(st.integers(1, most_rank))
    kernel = [draw(st.integers(1, most_taps if rank < 3 else 2)) for _ in range(rank)]
    strides = [draw(st.integers(1, 3)) for _ in range(rank)]
    dilations = [draw(st.sampled_from([1, 1, 2])) for _ in range(rank)]
    pads = [draw(st.integers(0, 3)) for _ in range(2 * rank)]
    spatial = []
    for axis in range(rank):
        reach = (kernel[axis] - 1) * dilations[axis] + 1 - pads[axis] - pads[rank + axis]
        least = max(1, reach)
        spatial.append(draw(st.integers(least, least + room[rank - 1])))
    return spatial, kernel, strides, dilations, pads


@st.composite
def squares(draw, sides=(3, 5, 7), room=20):
    """A window of two dimensions as most models have them, as ``windows`` gives it."""
    side, stride = draw(st.sampled_from(sides)), draw(st.integers(1, 2))
    pads = [draw(st.integers(0, side - 1)) for _ in range(4)]
    least = [max(1, side - pads[axis] - pads[2 + axis]) for axis in range(2)]
    spatial = [draw(st.integers(some, some + room)) for some in least]
    return spatial, [side] * 2, [stride] * 2, [1, 1], pads


@st.composite
def convolutions(draw, channels, columns):
    """A convolution that fits: (x shape, weight shape, strides, dilations, pads, groups).

    ``channels`` and ``columns`` are what a group may have of them.
    """
    spatial, kernel, strides, dilations, pads = draw(windows(3, 4, (70, 13, 6)))
    groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
    per_group, made = draw(st.sampled_from(channels)), draw(st.sampled_from(columns))
    x = (draw(st.integers(1, 2)), *spatial, groups * per_group)
    return x, (groups * made, *kernel, per_group), strides, dilations, pads, groups


def places(spatial, kernel, strides, dilations, pads):
    """At how many places of an image a window stands, along each axis."""
    rank = len(kernel)
    return [
        (spatial[a] + pads[a] + pads[rank + a] - (kernel[a] - 1) * dilations[a] - 1) // strides[a]
        + 1
        for a in range(rank)
    ]


@st.composite
def named_elements(draw, least=0):
    """(shape, axis, shape of indices), which is longer along the axis at most.

    ``least`` is how long the indices are at least, along every axis.
    """
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    axis = draw(st.integers(0, len(shape) - 1))
    most = [7 if i == axis else dim for i, dim in enumerate(shape)]
    return shape, axis, [draw(st.integers(least, dim)) for dim in most]


def element(place, indices, axis):
    """Where the element is that the index at ``place`` names."""
    return (*place[:axis], indices[place], *place[axis + 1 :])
