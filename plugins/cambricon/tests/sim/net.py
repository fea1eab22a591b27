"""Ops of the library as a careful caller makes them: arrays in, arrays out, in each era's form."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from stand_in import ARRAY, NHWC, StandIn, ints, longs, number, pointers

FLOATS = ["float32", "float16"]
TOLERANCE = {"float32": 1e-5, "float16": 2e-3, "int32": 0}


def values(shape: Sequence[int], dtype="float32", low=-3.0, high=3.0, seed=0) -> NDArray:
    """Of every size between the bounds, the same on every run."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def close(found: NDArray, expected: NDArray, scale: float = 1.0) -> None:
    """Equal within what the type of ``found`` holds, times ``scale``."""
    tolerance = TOLERANCE[found.dtype.name] * scale
    wide = np.asarray(expected, np.float64)
    np.testing.assert_allclose(found.astype(np.float64), wide, rtol=tolerance, atol=tolerance)


@dataclass(frozen=True)
class Placed:
    """A tensor on the card."""

    descriptor: int
    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def pair(self) -> tuple[int, int]:
        return self.descriptor, self.pointer


class Net:
    """One handle on one queue, and everything made for it; ``close`` gives all of it back."""

    def __init__(self, sim: StandIn) -> None:
        self.sim = sim
        self.era = sim.era
        self.queue = sim.queue()
        self.handle = sim.handle(self.queue)
        self.tensors: list[Placed] = []
        self.scratch: list[int] = []
        self.descriptors: list[tuple[str, int]] = []

    def close(self) -> None:
        self.sim.sync(self.queue)
        for tensor in self.tensors:
            self.sim.destroy(tensor.descriptor)
            self.sim.free(tensor.pointer)
        self.sim.free(*self.scratch)
        for destroy, descriptor in self.descriptors:
            self.sim.check(destroy, descriptor)
        self.sim.close(self.handle, self.queue)

    # Parts

    def place(self, array: NDArray, layout: int = ARRAY) -> Placed:
        """A copy of the array on the card."""
        array = np.asarray(array)
        tensor = Placed(
            self.sim.tensor(array.shape, array.dtype, layout),
            self.sim.to_card(array),
            array.shape,
            array.dtype,
        )
        self.tensors.append(tensor)
        return tensor

    def empty(self, shape: Sequence[int], dtype: object = "float32", layout: int = ARRAY) -> Placed:
        """Memory for a result, which must not stay 1."""
        return self.place(np.full(shape, 1, dtype), layout)

    def descriptor(self, kind: str) -> int:
        """Of an op, by the middle of the name of the functions that create and destroy it."""
        made = self.sim.out(f"cnnlCreate{kind}")
        self.descriptors.append((f"cnnlDestroy{kind}", made))
        return made

    def workspace(self, query: str, *arguments: object) -> tuple[int, int]:
        """Fresh scratch memory of the size that the query answers."""
        size = self.sim.out(query, *arguments, kind=ctypes.c_size_t, first=False)
        if size == 0:
            return 0, 0
        self.scratch.append(self.sim.allocate(size))
        return self.scratch[-1], size

    def run(self, name: str, *arguments: object) -> None:
        self.sim.check(name, self.handle, *arguments)

    def result(self, tensor: Placed) -> NDArray:
        """After all work of the queue."""
        self.sim.sync(self.queue)
        return self.sim.to_host(tensor.pointer, tensor.shape, tensor.dtype)

    # Ops

    def activation(self, mode: str, x: NDArray, coefficient: float = 1.0, layout: int = ARRAY):
        chosen = self.descriptor("ActivationDescriptor")
        mode = self.sim.enum(f"CNNL_ACTIVATION_{mode}")
        if self.era == 4:
            self.sim.check("cnnlSetActivationDescriptor", chosen, mode, 0, coefficient)
        else:
            precise = self.sim.enum("CNNL_ACTIVATION_HIGH_PRECISION")
            rest = (0, coefficient, 0, 1.6732632, 1.050701, 0)
            self.sim.check("cnnlSetActivationDescriptor_v5", chosen, mode, precise, *rest)
        x = self.place(x, layout)
        y = self.empty(x.shape, x.dtype, layout)
        self.run("cnnlActivationForward", chosen, None, *x.pair, None, *y.pair)
        return self.result(y)

    def unary(self, name: str, x: NDArray, *first: int, dtype: object = None):
        x = self.place(x)
        y = self.empty(x.shape, dtype or x.dtype)
        self.run(name, *first, *x.pair, *y.pair)
        return self.result(y)

    def prelu(self, x: NDArray, alpha: NDArray):
        x, alpha = self.place(x), self.place(alpha)
        y = self.empty(x.shape, x.dtype)
        self.run("cnnlPrelu", *x.pair, *alpha.pair, *y.pair)
        return self.result(y)

    def add_n(self, arrays: Sequence[NDArray]):
        terms = [self.place(array) for array in arrays]
        out = self.empty(terms[0].shape, terms[0].dtype)
        descriptors = pointers([term.descriptor for term in terms])
        data = pointers([term.pointer for term in terms])
        if self.era < 6:
            self.run("cnnlAddN", descriptors, data, len(terms), *out.pair)
        else:
            query = (self.handle, descriptors, len(terms), out.descriptor)
            scratch = self.workspace("cnnlGetAddNWorkspaceSize", *query)
            self.run("cnnlAddN_v2", descriptors, data, len(terms), *out.pair, *scratch)
        return self.result(out)

    def op_tensor(self, op: str, a: NDArray, b: NDArray, factors=(1.0, 1.0, 0.0)):
        chosen = self.descriptor("OpTensorDescriptor")
        self.sim.check(
            "cnnlSetOpTensorDescriptor", chosen, self.sim.enum(f"CNNL_OP_TENSOR_{op}"), 2, 0
        )
        a, b = self.place(a), self.place(b)
        out = self.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
        as_c = ctypes.c_int if a.dtype == np.int32 else ctypes.c_float
        fa, fb, fc = (ctypes.byref(as_c(int(f) if as_c is ctypes.c_int else f)) for f in factors)
        if self.era < 6:
            query = (self.handle, a.descriptor, b.descriptor, out.descriptor)
            scratch = self.workspace("cnnlGetOpTensorWorkspaceSize", *query)
        else:
            query = (self.handle, chosen, fa, *a.pair, fb, *b.pair, fc, *out.pair)
            scratch = self.workspace("cnnlGetOpTensorWorkspaceSize_v2", *query)
        self.run("cnnlOpTensor", chosen, fa, *a.pair, fb, *b.pair, *scratch, fc, *out.pair)
        return self.result(out)

    def binary(self, name: str, query: str, a: NDArray, b: NDArray, *first: int, behind=False,
               dtype: object = None, asks: int = 3):  # fmt: skip
        a, b = self.place(a), self.place(b)
        out = self.empty(np.broadcast_shapes(a.shape, b.shape), dtype or a.dtype)
        asked = (a.descriptor, b.descriptor, out.descriptor)[-asks:]
        scratch = self.workspace(query, self.handle, *asked)
        rest = (*out.pair, *scratch) if behind else (*scratch, *out.pair)
        self.run(name, *first, *a.pair, *b.pair, *rest)
        return self.result(out)

    def bias_add(self, x: NDArray, bias: NDArray, layout: int = ARRAY):
        x, bias = self.place(x, layout), self.place(bias)
        query = (self.handle, bias.descriptor, x.descriptor)
        scratch = self.workspace("cnnlGetBiasAddWorkspaceSize", *query)
        one = number(1.0)
        self.run("cnnlBiasAdd", one, *bias.pair, *scratch, one, *x.pair)
        return self.result(x)

    def concat(self, arrays: Sequence[NDArray], axis: int):
        parts = [self.place(array) for array in arrays]
        out = self.empty(np.concatenate(arrays, axis).shape, arrays[0].dtype)
        scratch = self.workspace("cnnlGetConcatWorkspaceSize", self.handle, len(parts))
        descriptors = pointers([part.descriptor for part in parts])
        data = pointers([part.pointer for part in parts])
        self.run("cnnlConcat", len(parts), axis, descriptors, data, *scratch, *out.pair)
        return self.result(out)

    def split(self, x: NDArray, sizes: Sequence[int], axis: int):
        points = np.cumsum(sizes)[:-1]
        parts = [self.empty(part.shape, x.dtype) for part in np.split(x, points, axis)]
        x = self.place(x)
        scratch = self.workspace("cnnlGetSplitWorkspaceSize", self.handle, len(parts))
        descriptors = pointers([part.descriptor for part in parts])
        data = pointers([part.pointer for part in parts])
        self.run("cnnlSplit", len(parts), axis, *x.pair, *scratch, descriptors, data)
        return [self.result(part) for part in parts]

    def transpose(self, x: NDArray, order: Sequence[int]):
        chosen = self.descriptor("TransposeDescriptor")
        self.sim.check("cnnlSetTransposeDescriptor", chosen, len(order), ints(order))
        y = self.empty([x.shape[axis] for axis in order], x.dtype)
        x = self.place(x)
        if self.era < 6:
            self.run("cnnlTranspose", chosen, *x.pair, *y.pair)
        else:
            query = (self.handle, x.descriptor, chosen)
            scratch = self.workspace("cnnlGetTransposeWorkspaceSize", *query)
            self.run("cnnlTranspose_v2", chosen, *x.pair, *y.pair, *scratch)
        return self.result(y)

    def strided_slice(self, x: NDArray, slices: Sequence[slice]):
        y = self.empty(x[tuple(slices)].shape, x.dtype)
        x = self.place(x)
        low = -(1 << 20)  # before the first element, however long the axis is
        ends = [low if s.stop is None else s.stop for s in slices]
        steps = [s.step or 1 for s in slices]
        array, name = (ints, "cnnlStridedSlice") if self.era < 6 else (longs, "cnnlStridedSlice_v2")
        bounds = (array([s.start for s in slices]), array(ends), array(steps))
        self.run(name, *x.pair, *bounds, *y.pair)
        return self.result(y)

    def gather(self, x: NDArray, index: NDArray, axis: int):
        x, index = self.place(x), self.place(index)
        out = self.empty(index.shape, x.dtype)
        if self.era < 6:
            self.run("cnnlGather", axis, *x.pair, *index.pair, *out.pair)
        else:
            query = (self.handle, x.descriptor, index.descriptor, out.descriptor, axis)
            scratch = self.workspace("cnnlGetGatherWorkspaceSize", *query)
            self.run("cnnlGather_v2", axis, *x.pair, *index.pair, *scratch, *out.pair)
        return self.result(out)

    def fill(self, value: float, shape: Sequence[int], dtype: object):
        out, one = self.empty(shape, dtype), np.array([value], dtype)
        if self.era == 4:
            self.run("cnnlFill", float(value), *out.pair)
        elif self.era == 5:
            self.run("cnnlFill_v3", 0, one.ctypes.data, *out.pair)
        else:
            single = self.place(one)
            self.run("cnnlFill_v4", *single.pair, *out.pair)
        return self.result(out)

    def cast(self, x: NDArray, dtype: object):
        names = {"float16": "HALF", "float32": "FLOAT", "float64": "DOUBLE"}
        name = [names.get(t, t.upper()) for t in (x.dtype.name, np.dtype(dtype).name)]
        x = self.place(x)
        y = self.empty(x.shape, dtype)
        kind = self.sim.enum(f"CNNL_CAST_{name[0]}_TO_{name[1]}")
        self.run("cnnlCastDataType", *x.pair, kind, *y.pair)
        return self.result(y)

    def reduce(self, op: int, x: NDArray, axes: Sequence[int], indices: int = 0):
        """The values, or the places when only these are asked for (``indices=2``)."""
        chosen = self.descriptor("ReduceDescriptor")
        settings = (chosen, ints(axes), len(axes), op, 2, 0, indices, 0)
        shape = list(x.shape)
        for axis in axes:
            shape[axis] = 1
        x, out, places = self.place(x), self.empty(shape, x.dtype), self.empty(shape, "int32")
        if self.era < 6:
            self.sim.check("cnnlSetReduceDescriptor", *settings)
            query = (self.handle, x.descriptor, out.descriptor, chosen)
            scratch = self.workspace("cnnlGetReduceOpWorkspaceSize", *query)
            index = (int(np.prod(shape)) * 4, places.pointer)
            self.run("cnnlReduce", chosen, *scratch, None, *x.pair, *index, None, *out.pair)
        else:
            self.sim.check("cnnlSetReduceDescriptor_v2", *settings, 2.0)
            query = (self.handle, x.descriptor, out.descriptor, places.descriptor, chosen)
            scratch = self.workspace("cnnlGetReduceOpWorkspaceSize_v2", *query)
            self.run(
                "cnnlReduce_v2", chosen, *x.pair, None, None, *scratch, *out.pair, *places.pair
            )
        return self.result(places if indices == 2 else out)

    def softmax(self, x: NDArray, mode: str = "LOW", algorithm: str = "ACCURATE"):
        x = self.place(x)
        y = self.empty(x.shape, x.dtype)
        how = (
            self.sim.enum(f"CNNL_SOFTMAX_{algorithm}"),
            self.sim.enum(f"CNNL_SOFTMAX_MODE_{mode}_DIMENSION"),
        )
        self.run("cnnlSoftmaxForward", *how, None, *x.pair, None, *y.pair)
        return self.result(y)

    def interp(self, x: NDArray, shape: Sequence[int], mode: str, corners: bool, centers: bool):
        x, y = self.place(x, NHWC), self.empty(shape, x.dtype, NHWC)
        mode = self.sim.enum(f"CNNL_INTERP_{mode}")
        if self.era == 4:
            self.run("cnnlInterp", corners, centers, mode, *x.pair, *y.pair)
        elif self.era == 5:
            self.run("cnnlInterp_v2", corners, centers, mode, None, 1, *x.pair, *y.pair)
        else:
            chosen = self.descriptor("InterpDescriptor")
            algorithm = 2 if corners else 0 if centers else 3
            grid = self.sim.enum(f"CNNL_INTERP_COORDINATE_TRANSFORMATION_ALGO{algorithm}")
            self.sim.check("cnnlSetInterpDescriptor_v2", chosen, x.descriptor, mode, grid, None)
            self.run("cnnlInterp_v3", chosen, *x.pair, *y.pair)
        return self.result(y)

    def convolution(self, x: Placed, w: Placed, y: Placed, *, pads=(0, 0, 0, 0), strides=(1, 1),
                    dilations=(1, 1), groups=1, bias: NDArray | None = None):  # fmt: skip
        chosen = self.descriptor("ConvolutionDescriptor")
        settings = (chosen, len(x.shape), ints(pads), ints(strides), ints(dilations), groups)
        compute = () if self.era == 4 else (2,)
        self.sim.check("cnnlSetConvolutionDescriptor", *settings, *compute)
        algorithm = self.sim.enum("CNNL_CONVOLUTION_FWD_ALGO_DIRECT")
        added = (None, None) if bias is None else self.place(bias).pair
        asked = () if self.era == 4 else (added[0],)
        three = (x.descriptor, w.descriptor, y.descriptor)
        query = (self.handle, *three, *asked, chosen, algorithm)
        scratch = self.workspace("cnnlGetConvolutionForwardWorkspaceSize", *query)
        inputs = (None, *x.pair, *w.pair, *added)
        self.run("cnnlConvolutionForward", chosen, algorithm, *inputs, *scratch, None, *y.pair)
        return self.result(y)

    def matmul(self, a: Placed, b: Placed, c: Placed, transpose_a=False, transpose_b=False):
        one, zero = number(1.0), number(0.0)
        if self.era < 6:
            flags = (transpose_a, transpose_b)
            self.run("cnnlMatMul", *flags, one, *a.pair, *b.pair, zero, *c.pair)
            return self.result(c)
        chosen, algorithm, scratch = self.chosen_matmul(a, b, c, transpose_a, transpose_b)
        self.run(
            "cnnlMatMul_v2", chosen, algorithm, one, *a.pair, *b.pair, zero, *c.pair, *scratch,
            *c.pair,
        )  # fmt: skip
        return self.result(c)

    def chosen_matmul(self, a, b, c, transpose_a, transpose_b, stacked=False):
        """Descriptor, algorithm and workspace in the manner of the last era."""
        chosen = self.descriptor("MatMulDescriptor")
        for attribute, value in ((3, transpose_a), (4, transpose_b)):
            flag = ctypes.byref(ctypes.c_int32(value))
            self.sim.check("cnnlSetMatMulDescAttr", chosen, attribute, flag, 4)
        algorithm = self.descriptor("MatMulAlgo")
        result, found = self.descriptor("MatMulHeuristicResult"), ctypes.c_int()
        three = (a.descriptor, b.descriptor, c.descriptor)
        described = three if stacked else (*three, c.descriptor)
        middle = "BatchMatMulEx" if stacked else "MatMul"
        asked = (chosen, *described, 0, 1, pointers([result]), ctypes.byref(found))
        self.run(f"cnnlGet{middle}AlgoHeuristic", *asked)
        assert found.value == 1
        query = f"cnnlGet{middle}HeuristicResult"
        return chosen, algorithm, self.workspace(query, result, algorithm)

    def batch_matmul(self, a: NDArray, b: NDArray, transpose_a=False, transpose_b=False):
        left = np.swapaxes(a, -1, -2) if transpose_a else a
        right = np.swapaxes(b, -1, -2) if transpose_b else b
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), left.shape[-2], right.shape[-1])
        a, b, c = self.place(a), self.place(b), self.empty(shape, a.dtype)
        if self.era < 6:
            query = (self.handle, a.descriptor, b.descriptor, c.descriptor)
            scratch = self.workspace("cnnlGetBatchMatMulBCastWorkspaceSize", *query)
            flags = (transpose_a, transpose_b)
            self.run("cnnlBatchMatMulBCast", *flags, *a.pair, *b.pair, *scratch, *c.pair)
        else:
            chosen, algorithm, scratch = self.chosen_matmul(
                a, b, c, transpose_a, transpose_b, stacked=True
            )
            one, zero = number(1.0), number(0.0)
            self.run(
                "cnnlBatchMatMulEx", chosen, algorithm, one, *a.pair, *b.pair, zero, *c.pair,
                *scratch,
            )  # fmt: skip
        return self.result(c)

    def quantized(self, x: NDArray, dtype: object, layout: int = ARRAY) -> Placed:
        """In fixed point; the card finds position and scale, which go into the descriptor."""
        source, out = self.place(x, layout), self.empty(x.shape, dtype, layout)
        position, scale = self.empty((1,), "int32"), self.empty((1,), "float32")
        bits = np.dtype(dtype).itemsize * 8
        if self.era < 6:
            query = (self.handle, source.descriptor)
            scratch = self.workspace("cnnlGetQuantifyOnlineWorkspaceSize", *query)
            found = (position.pointer, scale.pointer)
            self.run("cnnlQuantifyOnline", 0, *source.pair, *scratch, *found, *out.pair)
        else:
            query = (self.handle, source.descriptor)
            scratch = self.workspace("cnnlGetQuantizeParamWorkspaceSize", *query)
            found = (position.pointer, scale.pointer, None)
            self.run("cnnlQuantizeParam", 1, *source.pair, bits, *scratch, *found)
        values = int(self.result(position)[0]), float(self.result(scale)[0])
        self.sim.check("cnnlSetTensorDescriptorPositionAndScale", out.descriptor, *values)
        if self.era == 6:
            self.run("cnnlQuantizeV1", 1, *source.pair, *out.pair)
        return out

    def pool(self, x: NDArray, shape, mode: int, window, pads=(0, 0, 0, 0), strides=(1, 1),
             ceil=False):  # fmt: skip
        chosen = self.descriptor("PoolingDescriptor")
        settings = (chosen, mode, 0, *window, *pads, *strides)
        x, y = self.place(x, NHWC), self.empty(shape, x.dtype, NHWC)
        sides = (shape[2], shape[1])
        if self.era < 6:
            assert not ceil
            self.sim.check("cnnlSetPooling2dDescriptor", *settings)
            scratch = self.workspace("cnnlGetPoolingWorkspaceSize", self.handle, mode, *sides)
            self.run("cnnlPoolingForward", chosen, None, *x.pair, None, *y.pair, *scratch)
            return self.result(y)
        self.sim.check("cnnlSetPooling2dDescriptor_v2", *settings, 1, 1, ceil)
        query = (self.handle, chosen, x.descriptor, y.descriptor)
        scratch = self.workspace("cnnlGetPoolingWorkspaceSize_v2", *query)
        ask = ("cnnlGetPoolingExtraInputSize", self.handle, mode, *sides)
        size = self.sim.out(*ask, kind=ctypes.c_size_t, first=False)
        host = np.zeros(size, np.uint8)
        self.run("cnnlInitPoolingExtraInput", *query[1:], host.ctypes.data)
        extra = self.place(host).pointer if size else None
        self.run("cnnlPoolingForward_v2", chosen, None, *x.pair, None, extra, *y.pair, *scratch)
        return self.result(y)

    def batch_norm(self, x: NDArray, parameters: Sequence[NDArray], epsilon: float):
        x = self.place(x, NHWC)
        weight, bias, mean, variance = (self.place(p) for p in parameters)
        z = self.empty(x.shape, x.dtype, NHWC)
        data = (weight.pointer, bias.pointer, mean.pointer, variance.pointer)
        self.run(
            "cnnlBatchNormForwardInference", None, None, *x.pair, weight.descriptor, *data,
            epsilon, *z.pair,
        )  # fmt: skip
        return self.result(z)
