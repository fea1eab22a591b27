"""Planted misuse of the library's ops: pointers, workspaces, descriptors, layouts, numbers."""

import ctypes

import numpy as np
from stand_in import (
    BAD_PARAM,
    EXECUTION_FAILED,
    NCHW,
    NHWC,
    NOT_SUPPORTED,
    address,
    ints,
    number,
    pointers,
)


def test_host_memory_given_to_an_op(sim):
    """Where memory of the card is needed; and no memory at all."""
    handle, tensor, block, data = sim.handle(), sim.tensor((4,)), sim.allocate(16), np.ones(4)
    call = (handle, tensor, address(data), tensor, block)
    told = sim.refuse("cnnlSquare", *call, kind="host-pointer", status=BAD_PARAM)
    assert told.startswith("x (")
    sim.refuse("cnnlSquare", handle, tensor, block, tensor, None, kind="null-pointer")
    sim.destroy(tensor)
    sim.free(block)
    sim.close(handle)


def bias_add(sim, handle, block, bias, workspace, size):
    """The arguments of an addition of 3 biases to 2 x 3 elements."""
    tensors = sim.tensor((3,)), sim.tensor((2, 3))
    one = number(1.0)
    return tensors, (handle, one, tensors[0], bias, workspace, size, one, tensors[1], block)


def test_a_workspace_that_is_too_small_or_none(sim):
    """Smaller than the query says, NULL, of the host, or the op's own output."""
    handle, block, bias, data = sim.handle(), sim.allocate(24), sim.allocate(12), np.zeros(999)
    workspace = sim.allocate(4096)
    tensors, call = bias_add(sim, handle, block, bias, workspace, 0)
    size = sim.out(
        "cnnlGetBiasAddWorkspaceSize", handle, *tensors, kind=ctypes.c_size_t, first=False
    )
    assert size > 0

    def with_workspace(pointer, size):
        return (*call[:4], pointer, size, *call[6:])

    for pointer, given, kind in (
        (workspace, size - 1, "workspace"),
        (None, 0, "workspace"),
        (None, size, "null-pointer"),
        (address(data), size, "host-pointer"),
        (workspace + 4000, size, "out-of-bounds"),
    ):
        sim.refuse("cnnlBiasAdd", *with_workspace(pointer, given), kind=kind, status=BAD_PARAM)
    sim.check("cnrtMemset", block, 0, 24)
    sim.check("cnrtMemset", bias, 0, 12)
    sim.check("cnnlBiasAdd", *with_workspace(workspace, size))
    sim.sync()
    sim.free(block, bias, workspace)
    sim.destroy(*tensors)
    sim.close(handle)


def test_a_workspace_freed_while_the_op_may_run(sim):
    """As kernels do that allocate it for one call and free it behind the call."""
    queue = sim.queue()
    handle, block, bias, workspace = (
        sim.handle(queue), sim.allocate(24), sim.allocate(12), sim.allocate(4096),
    )  # fmt: skip
    tensors, call = bias_add(sim, handle, block, bias, workspace, 4096)
    sim.check("mlusim_pause", queue)
    sim.check("cnnlBiasAdd", *call)
    told = sim.refuse("cnrtFree", workspace, kind="freed-in-use")
    assert "cnnlBiasAdd writes" in told
    assert sim.call("cnrtQueueSync", queue) == sim.code("queue")
    sim.take("cnnlBiasAdd", "use-after-free")
    sim.free(block, bias)
    sim.destroy(*tensors)
    sim.close(handle, queue)


def test_a_workspace_shared_by_two_queues(sim):
    """Each would overwrite the other's."""
    queues = sim.queue(), sim.queue()
    handles = [sim.handle(queue) for queue in queues]
    blocks = [sim.to_card(np.ones((2, 3), np.float32)) for _ in queues]
    bias, workspace = sim.to_card(np.ones(3, np.float32)), sim.allocate(4096)
    first, call = bias_add(sim, handles[0], blocks[0], bias, workspace, 4096)
    second, other = bias_add(sim, handles[1], blocks[1], bias, workspace, 4096)
    sim.check("cnnlBiasAdd", *call)
    told = sim.refuse("cnnlBiasAdd", *other, kind="unordered", status=EXECUTION_FAILED)
    assert told.startswith("the workspace")
    sim.check("cnrtSyncDevice")
    sim.free(*blocks, bias, workspace)
    sim.destroy(*first, *second)
    for handle, queue in zip(handles, queues, strict=True):
        sim.close(handle, queue)


def test_a_bias_whose_memory_is_too_small(sim):
    """A byte for each float of the output, described as the output: the port's convolution."""
    handle, conv = sim.handle(), sim.out("cnnlCreateConvolutionDescriptor")
    shapes = [(1, 4, 4, 2), (3, 1, 1, 2), (1, 4, 4, 3)]
    tensors = [sim.tensor(shape, layout=NHWC) for shape in shapes]
    blocks = [sim.to_card(np.ones(shape, np.float32)) for shape in shapes]
    bias, workspace = sim.allocate(4 * 4 * 3), sim.allocate(4096)
    algorithm = sim.enum("CNNL_CONVOLUTION_FWD_ALGO_DIRECT")
    two = ints([1, 1])
    sim.check("cnnlSetConvolutionDescriptor", conv, 4, ints([0] * 4), two, two, 1, 2)
    told = sim.refuse(
        "cnnlConvolutionForward", handle, conv, algorithm, None, tensors[0], blocks[0],
        tensors[1], blocks[1], tensors[2], bias, workspace, 4096, None, tensors[2], blocks[2],
        kind="out-of-bounds", status=BAD_PARAM,
    )  # fmt: skip
    assert told.startswith("bias needs 192 bytes at offset 0 of block 4 (48 bytes")
    sim.free(*blocks, bias, workspace)
    sim.destroy(*tensors)
    sim.check("cnnlDestroyConvolutionDescriptor", conv)
    sim.close(handle)


def test_an_image_layout_on_a_tensor_that_is_no_image(sim):
    """What a card does with it is not documented."""
    handle, tensor, block = sim.handle(), sim.tensor((2, 2), layout=NHWC), sim.allocate(16)
    sim.refuse("cnnlSquare", handle, tensor, block, tensor, block, kind="layout", status=BAD_PARAM)
    sim.destroy(tensor)
    sim.free(block)
    sim.close(handle)


def test_channels_first_given_to_an_op_that_takes_them_last(start):
    """Not even a lenient stand-in takes elements for others."""
    sim = start(strict=0)
    handle, block = sim.handle(), sim.allocate(64)
    image, channel = sim.tensor((1, 2, 2, 2), layout=NCHW), sim.tensor((2,))
    call = (handle, None, None, image, block, channel, block, block, block, block, 0.0, image)
    sim.refuse("cnnlBatchNormForwardInference", *call, block, kind="layout", status=NOT_SUPPORTED)
    sim.destroy(image, channel)
    sim.free(block)
    sim.close(handle)


def test_a_descriptor_that_was_never_set(sim):
    """Fresh, and after a reset."""
    handle, tensor, block = sim.handle(), sim.tensor((4,)), sim.allocate(16)
    sim.check("cnnlResetTensorDescriptor", tensor)
    call = (handle, tensor, block, tensor, block)
    sim.refuse("cnnlSquare", *call, kind="unset-descriptor", status=BAD_PARAM)
    sim.destroy(tensor)
    sim.free(block)
    sim.close(handle)


def test_a_descriptor_that_is_set_twice(sim):
    """The library keeps what the first call made; only a reset lets go of it."""
    tensor = sim.tensor((4,))
    again = ("cnnlSetTensorDescriptor", tensor, 4, 2, 1, ints([5]))
    sim.refuse(*again, kind="leak", status=BAD_PARAM)
    sim.check("cnnlResetTensorDescriptor", tensor)
    sim.check(*again)
    sim.destroy(tensor)


def test_an_output_that_overlaps_an_input(sim):
    """A concatenation into one of its own inputs."""
    handle, whole, half = sim.handle(), sim.tensor((4,)), sim.tensor((2,))
    block, workspace = sim.allocate(16), sim.allocate(1024)
    sim.refuse(
        "cnnlConcat", handle, 2, 0, pointers([half, half]), pointers([block, block + 8]),
        workspace, 1024, whole, block, kind="overlap", status=BAD_PARAM,
    )  # fmt: skip
    sim.destroy(whole, half)
    sim.free(block, workspace)
    sim.close(handle)


def test_a_number_guessed_for_an_enumerator(sim):
    """Softmax with the numbers that a header would suggest."""
    handle, tensor, block = sim.handle(), sim.tensor((1, 2, 2)), sim.allocate(16)
    call = (handle, 1, 2, None, tensor, block, None, tensor, block)
    sim.refuse("cnnlSoftmaxForward", *call, kind="unknown-enum", status=BAD_PARAM)
    sim.destroy(tensor)
    sim.free(block)
    sim.close(handle)
