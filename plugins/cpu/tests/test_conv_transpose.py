"""Transposed convolutions, which become products or plain convolutions, against their sum."""

import itertools

import numpy as np
import pytest

import headrace as flow
from headrace.frontend.compiled_job import CompiledJob
from headrace.frontend.stages import stages_of
from headrace.graph.builder import JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import default_registry


def summed(x, weight, bias, strides, pads, output_padding, groups):
    """Each element of x, by each tap, where it belongs. Channels last; float64."""
    (n, *spatial, channels), kernel = x.shape, weight.shape[1:-1]
    each, per_group = weight.shape[-1], channels // groups
    begin, end = pads[: len(kernel)], pads[len(kernel) :]
    sizes = zip(spatial, strides, kernel, output_padding, strict=True)
    whole = [(size - 1) * stride + taps + more for size, stride, taps, more in sizes]
    y = np.zeros((n, *whole, groups * each))
    for tap in itertools.product(*map(range, kernel)):
        steps = zip(tap, spatial, strides, strict=True)
        at = tuple(slice(t, t + (size - 1) * stride + 1, stride) for t, size, stride in steps)
        for group in range(groups):
            reads = slice(group * per_group, (group + 1) * per_group)
            w = weight[(reads, *tap)].astype(np.float64)
            made = slice(group * each, (group + 1) * each)
            y[(slice(None), *at, made)] += x[..., reads].astype(np.float64) @ w
    cut = (slice(b, size - e) for b, e, size in zip(begin, end, whole, strict=True))
    return y[(slice(None), *cut)] + bias


def job(x, weight, bias, *, channels_last=True, **attrs):
    builder = JobGraphBuilder("job", Placement.of_device("cpu:0"))
    fed = builder.input("x", flow.TensorSpec(x.shape, "float32"))
    data_format = "channels_last" if channels_last else "channels_first"
    read = [fed, builder.constant(weight), builder.constant(bias)]
    (y,) = builder.op("conv_transpose", read, data_format=data_format, **attrs)
    builder.output("y", y)
    return builder.finish()


FORMS = [
    (spatial, kernel, strides, pads, more, groups)
    for spatial, kernel, strides, pads, more in (
        ((5, 4), (4, 4), (2, 2), (1, 1, 1, 1), (0, 0)),
        ((5, 4), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
        ((5, 4), (3, 2), (2, 3), (0, 0, 1, 0), (0, 1)),
        ((4, 5), (5, 5), (1, 1), (2, 2, 2, 2), (0, 0)),
        ((4, 5), (2, 2), (2, 2), (0, 0, 0, 0), (0, 0)),
        ((4, 5), (2, 2), (2, 2), (1, 0, 0, 1), (0, 0)),
        ((1, 1), (4, 4), (1, 1), (0, 0, 0, 0), (0, 0)),
        ((9,), (16,), (8,), (4, 4), (0,)),
        ((2, 3, 4), (2, 3, 2), (2, 1, 2), (0, 1, 0, 0, 1, 1), (1, 0, 0)),
    )
    for groups in (1, 2, 6)
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("outputs", [1, 4])
@pytest.mark.parametrize("channels_last", [True, False])
def test_a_transposed_convolution_is_the_sum_of_what_each_position_gives(
    form, outputs, channels_last
):
    """With kernels that are multiples of the stride and others, cropped, lengthened, grouped."""
    spatial, kernel, strides, pads, more, groups = form
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, *spatial, 6), np.float32)
    weight = rng.standard_normal((6, *kernel, outputs), np.float32)
    bias = rng.standard_normal(outputs * groups, np.float32)
    wanted = summed(x, weight, bias, strides, pads, more, groups)
    attrs = {"strides": strides, "pads": pads, "output_padding": more, "groups": groups}
    if not channels_last:
        x, weight = (np.ascontiguousarray(np.moveaxis(a, -1, 1)) for a in (x, weight))
        wanted = np.moveaxis(wanted, -1, 1)
    graph = job(x, weight, bias, channels_last=channels_last, **attrs)
    with CompiledJob(graph, default_registry()) as compiled:
        made = compiled.run({"x": x})["y"]
    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-4)


def ops_of(x, weight, **attrs):
    graph = job(x, weight, np.zeros(weight.shape[-1] * attrs.get("groups", 1), np.float32), **attrs)
    *_, last = (s.structure for s in stages_of(graph, default_registry()) if s.is_pass)
    return {op.call.op for op in last.ops}


def test_what_would_multiply_zeros_mostly_stays():
    """Dilated taps, and a large kernel over few positions; others are convolutions or products."""

    def made(spatial, kernel, **attrs):
        x = np.zeros((1, *spatial, 8), np.float32)
        return ops_of(x, np.ones((8, *kernel, 8), np.float32), **attrs)

    twice = {"strides": (2, 2)}
    assert "cpu.conv" in made((8, 8), (4, 4), pads=(1, 1, 1, 1), **twice)
    assert "cpu.matmul" in made((8, 8), (2, 2), **twice)
    assert "conv_transpose" in made((8, 8), (3, 3), dilations=(2, 2), **twice)
    assert "conv_transpose" in made((2, 2), (9, 9), **twice)
