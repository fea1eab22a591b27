"""The call sequences of the first port, with its shapes and tolerances, and its mistakes."""

import ctypes
import itertools

import numpy as np
import pytest
from net import Net, values
from stand_in import NHWC, OK, first_era, ints, number, pointers

# Only the first era has the names that the port calls.
pytestmark = first_era


def same(x, window, stride):
    """Padding before and after so that the output has ceil(length / stride)."""
    total = max((-(-x // stride) - 1) * stride + window - x, 0)
    return total // 2, total - total // 2


@pytest.mark.parametrize("mode", ["RELU", "SIGMOID"])
def test_an_activation_of_an_image(net, mode):
    """(1, 224, 224, 3)."""
    x = values((1, 224, 224, 3))
    found = net.activation(mode, x, layout=NHWC)
    if mode == "RELU":
        assert np.array_equal(found, np.maximum(x, 0))
    else:
        np.testing.assert_allclose(found, 1 / (1 + np.exp(-x)), rtol=1e-5)
    net.close()


def test_softmax_of_rows(net):
    """(5, 3) as (5, 1, 3)."""
    x = values((5, 1, 3))
    expected = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    np.testing.assert_allclose(net.softmax(x), expected, rtol=1e-3, atol=1e-4)
    net.close()


def test_a_sum_of_ten(net):
    """(1, 100, 100, 32) each."""
    terms = [values((1, 100, 100, 32), seed=i) for i in range(10)]
    np.testing.assert_allclose(net.add_n(terms), sum(terms), rtol=1e-5, atol=1e-6)
    net.close()


def test_a_bias_of_a_classifier(net):
    """(1, 1000), seen as (1, 1, 1, 1000)."""
    x, bias = values((1, 1, 1, 1000)), values((1000,), seed=1)
    np.testing.assert_allclose(net.bias_add(x, bias, NHWC), x + bias)
    net.close()


def test_a_quantized_product_with_weights(net):
    """(1, 2048) by the transpose of (1000, 2048), both quantized to 8 bits on the card."""
    a, b = values((1, 2048), low=0, high=1), values((1000, 2048), low=0, high=1, seed=1)
    placed = net.quantized(a, "int8"), net.quantized(b, "int8")
    found = net.matmul(*placed, net.empty((1, 1000)), False, True)
    np.testing.assert_allclose(found, a @ b.T, rtol=1e-1, atol=1e-5)
    net.close()


CONVOLUTIONS = [((1, 224, 224, 3), 2), ((3, 10, 10, 3), 1), ((3, 11, 11, 3), 1)]


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_quantized_convolution(net, case, padding):
    """One filter of 3 by 3, both quantized to 8 bits on the card, against floating point."""
    shape, stride = case
    x, w = values(shape, low=0, high=1), values((1, 3, 3, 3), low=0, high=1, seed=1)
    sides = same(shape[1], 3, stride) if padding == "SAME" else (0, 0)
    length = (shape[1] + sum(sides) - 3) // stride + 1
    wide = np.pad(x, ((0, 0), sides, sides, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))
    expected = np.einsum("nhwcij,ijc->nhw", windows[:, ::stride, ::stride], w[0])[..., None]
    found = net.convolution(
        net.quantized(x, "int8", NHWC), net.quantized(w, "int8", NHWC),
        net.empty((shape[0], length, length, 1), layout=NHWC), pads=sides * 2,
        strides=(stride, stride),
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-1, atol=1e-5)
    net.close()


POOLS = [(0, "VALID", 2), (2, "SAME", 2), (2, "VALID", 2), (0, "SAME", 5)]


@pytest.mark.parametrize(("mode", "padding", "channels"), POOLS)
def test_pools_of_an_image(net, mode, padding, channels):
    """(1, 100, 100, c), windows of 3 by 3, two apart; more padding behind than before."""
    x = values((1, 100, 100, channels))
    sides = same(100, 3, 2) if padding == "SAME" else (0, 0)
    empty = -np.inf if mode == 0 else np.nan
    wide = np.pad(x, ((0, 0), sides, sides, (0, 0)), constant_values=empty)
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))[:, ::2, ::2]
    expected = windows.max((-1, -2)) if mode == 0 else np.nanmean(windows, (-1, -2))
    found = net.pool(x, expected.shape, mode, (3, 3), sides * 2, (2, 2))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    net.close()


def test_normalisation_of_a_small_image(net):
    """(1, 4, 1, 2) with epsilon 1e-4."""
    x = values((1, 4, 1, 2))
    parameters = [values((2,), low=0.5, high=2, seed=i) for i in range(4)]
    weight, bias, mean, variance = parameters
    expected = (x - mean) / np.sqrt(variance + 1e-4) * weight + bias
    found = net.batch_norm(x, parameters, 1e-4)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)
    net.close()


def instance_norm(net, x, gamma, beta, workspace=True):
    """Deviation, square, mean, and the normalisation with them."""
    n, h, w, c = x.shape
    run, sim = net.run, net.sim
    rows, image = net.place(x.reshape(n, h * w, c)), net.place(x, NHWC)
    deviation, variance, mean = (net.empty((n, 1, c)) for _ in range(3))
    run("cnnlStdForward", 1, 0, *rows.pair, *deviation.pair)
    run("cnnlSquare", *deviation.pair, *variance.pair)
    reduce = net.descriptor("ReduceDescriptor")
    sim.check("cnnlSetReduceDescriptor", reduce, ints([1]), 1, 1, 2, 0, 1, 0)
    query = (net.handle, rows.descriptor, mean.descriptor, reduce)
    scratch = net.workspace("cnnlGetReduceOpWorkspaceSize", *query) if workspace else (None, 0)
    call = (reduce, *scratch, None, *rows.pair, 0, None, None, *mean.pair)
    if not workspace:
        return sim.call("cnnlReduce", net.handle, *call)
    run("cnnlReduce", *call)
    stats = net.sim.tensor((n, 1, 1, c), layout=NHWC)
    factors = [net.place(f.reshape(1, 1, 1, c), NHWC) for f in (gamma, beta)]
    y = net.empty(x.shape, layout=NHWC)
    run(
        "cnnlInstanceNormInference", *image.pair, stats, mean.pointer, variance.pointer,
        factors[0].descriptor, factors[0].pointer, factors[1].pointer, 1e-5, *y.pair,
    )  # fmt: skip
    sim.destroy(stats)
    return net.result(y), net.result(mean), net.result(variance)


def test_instance_normalisation_of_large_pictures(net):
    """(2, 512, 512, 3); mean and variance are results as well."""
    x, gamma, beta = values((2, 512, 512, 3)), values((3,), seed=1), values((3,), seed=2)
    y, mean, variance = instance_norm(net, x, gamma, beta)
    wide = x.astype(np.float64)
    m, v = wide.mean((1, 2), keepdims=True), wide.var((1, 2), keepdims=True)
    expected = (wide - m) / np.sqrt(v + 1e-5) * gamma + beta
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(mean, m[:, 0], atol=1e-5)
    np.testing.assert_allclose(variance, v[:, 0], rtol=1e-4)
    net.close()


@pytest.mark.parametrize("channels", [1, 3])
def test_prelu_of_an_image(net, channels):
    """(1, 256, 256, 3) with one slope, or one for each channel."""
    x, alpha = values((1, 256, 256, 3)), values((1, 1, 1, channels), seed=1)
    np.testing.assert_allclose(net.prelu(x, alpha), np.where(x < 0, x * alpha, x))
    net.close()


@pytest.mark.parametrize("order", [(2, 0, 1, 3), (1, 0, 2, 3), (3, 2, 1, 0), (3, 1, 2, 0)])
def test_a_transpose_of_images(net, order):
    """(10, 224, 224, 13)."""
    x = np.arange(10 * 224 * 224 * 13, dtype=np.float32).reshape(10, 224, 224, 13)
    assert np.array_equal(net.transpose(x, order), x.transpose(order))
    net.close()


@pytest.mark.parametrize("axis", range(4))
def test_two_blocks_joined(net, axis):
    """(10, 20, 30, 40) each."""
    parts = [values((10, 20, 30, 40), seed=i) for i in range(2)]
    assert np.array_equal(net.concat(parts, axis), np.concatenate(parts, axis))
    net.close()


def test_an_image_resized_to_twice_its_size(net):
    """(1, 3, 3, 1), by lines between centers; the test of the port printed this."""
    x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    line = np.array([0, 0.25, 0.75, 1.25, 1.75, 2])
    expected = line[:, None] * 3 + line[None, :]
    found = net.interp(x, (1, 6, 6, 1), "BILINEAR", False, True)
    np.testing.assert_allclose(found[0, :, :, 0], expected, rtol=1e-6)
    net.close()


# As the port had it


def test_the_ports_matmul_frees_what_the_product_still_reads(net):
    """Quantized copies, freed behind the call with no wait."""
    copies = [net.quantized(values((4, 4), seed=i), "int8") for i in range(2)]
    c = net.empty((4, 4))
    net.sim.check("mlusim_pause", net.queue)
    net.run("cnnlMatMul", 0, 0, number(1.0), *copies[0].pair, *copies[1].pair, number(0.0), *c.pair)
    for copy in copies:
        told = net.sim.refuse("cnrtFree", copy.pointer, kind="freed-in-use")
        assert "cnnlMatMul reads" in told
        net.tensors.remove(copy)
        net.sim.destroy(copy.descriptor)
    assert net.sim.call("cnrtSyncQueue", net.queue) == net.sim.code("queue")
    net.sim.take("cnnlMatMul", "use-after-free")
    net.close()


def test_the_ports_concat_frees_its_workspace(net):
    """A fill and the op use it; neither was waited for."""
    parts = [net.place(values((1, 2, 2, 3))) for _ in range(2)]
    out, size = net.empty((1, 2, 2, 6)), ctypes.c_size_t()
    net.run("cnnlGetConcatWorkspaceSize", 2, ctypes.byref(size))
    workspace = net.sim.allocate(size.value)
    net.sim.check("cnrtMemsetD8", workspace, 0, size.value)
    descriptors, data = (
        pointers([getattr(p, f) for p in parts]) for f in ("descriptor", "pointer")
    )
    net.sim.check("mlusim_pause", net.queue)
    net.run("cnnlConcat", 2, 3, descriptors, data, workspace, size.value, *out.pair)
    net.sim.refuse("cnrtFree", workspace, kind="freed-in-use")
    assert net.sim.call("cnrtSyncQueue", net.queue) == net.sim.code("queue")
    net.sim.take("cnnlConcat", "use-after-free")
    net.close()


def test_the_ports_instance_norm_asks_for_no_workspace(net):
    """The mean is taken with none, which no query had allowed."""
    x, factor = values((1, 8, 8, 3)), values((3,))
    assert instance_norm(net, x, factor, factor, workspace=False) != OK
    net.sim.take("cnnlReduce", "workspace")
    net.close()


def test_the_port_describes_everything_as_an_image(net):
    """Rows of a classifier, with the layout of images."""
    x = net.place(values((2, 3)))
    image = net.sim.tensor((2, 3), layout=NHWC)
    call = ("cnnlSquare", net.handle, image, x.pointer, image, x.pointer)
    net.sim.refuse(*call, kind="layout")
    net.sim.destroy(image)
    net.close()


def test_the_ports_descriptors_are_never_destroyed(start):
    """A tensor descriptor for each call, and the first of two for a pool."""
    sim = start()
    net = Net(sim)
    lost = [sim.tensor((1,)) for _ in range(4)]
    pool = sim.out("cnnlCreatePoolingDescriptor")
    net.close()
    assert sim.call("mlusim_check_leaks") == 2
    told = "\n".join(sim.reports())
    assert "4 tensor descriptor(s) not destroyed; the first came from" in told
    assert "1 pooling descriptor(s)" in told
    sim.call("mlusim_clear_reports")
    sim.destroy(*lost)
    sim.check("cnnlDestroyPoolingDescriptor", pool)


def test_the_port_destroys_the_queue_before_the_handle(start):
    """In the destructor of its queue handle."""
    sim = start()
    queue = sim.queue()
    handle = sim.handle(queue)
    sim.refuse("cnrtDestroyQueue", queue, kind="queue-before-handle")
    sim.close(handle)


def test_the_port_fills_and_frees_outside_its_device_guard(start):
    """Its allocator, for a card that is not the current one."""
    sim = start(cards=2)
    with sim.on(1):
        block = sim.allocate(16)
    sim.refuse("cnrtMemset", block, 0, 16, kind="wrong-device")
    sim.refuse("cnrtFree", block, kind="wrong-device")


def test_the_port_reads_position_and_scale_only_after_a_wait(net):
    """Without it they are poison, and the read is refused."""
    x, out = net.place(values((4, 4))), net.empty((4, 4), "int8")
    position, scale = net.empty((1,), "int32"), net.empty((1,))
    scratch = net.workspace("cnnlGetQuantifyOnlineWorkspaceSize", net.handle, x.descriptor)
    found = (position.pointer, scale.pointer)
    net.run("cnnlQuantifyOnline", 0, *x.pair, *scratch, *found, *out.pair)
    read = np.zeros(1, np.int32)
    copy = (read.ctypes.data, position.pointer, 4, 2)
    net.sim.refuse("cnrtMemcpy", *copy, kind="missing-sync")
    net.sim.sync(net.queue)
    net.sim.check("cnrtMemcpy", *copy)
    net.close()


def test_asymmetric_padding_is_seen_in_the_result(net):
    """top, bottom, left, right: a caller that takes the first two for all four is found out."""
    x, w = values((1, 4, 4, 1)), np.ones((1, 3, 3, 1), np.float32)
    results = []
    for pads in itertools.permutations((0, 1), 2):
        y = net.empty((1, 3, 3, 1), layout=NHWC)
        placed = net.place(x, NHWC), net.place(w, NHWC)
        results.append(net.convolution(*placed, y, pads=(*pads, *pads)))
    assert not np.array_equal(*results)
    net.close()
