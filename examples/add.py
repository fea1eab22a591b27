"""Add two arrays in a job, on the device that `headrace run --device TAG examples/add.py` names."""

import numpy as np

import headrace as flow
import headrace.typing as tp


@flow.global_function()
def add_job(a: tp.Numpy.Placeholder((3,)), b: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
    return flow.add(a, b)


a, b = np.array([1, 2, 3], np.float32), np.array([10, 20, 30], np.float32)
result = add_job(a, b)
assert np.array_equal(result, a + b)
print(f"{result} on {flow.default_device()}")
