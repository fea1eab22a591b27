"""ResNet-50 in OneFlow's lazy mode: ``oneflow_resnet50.py THREADS BATCH``.

A process of ``against_framework.py``, in an interpreter that OneFlow supports, without headrace.
"""

import sys
from typing import Any

import oneflow as flow
from network import resnet50
from oneflow import nn
from orders import obey


class Lazy(nn.Graph):  # type: ignore[misc]
    """The net, compiled as one job."""

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net

    def build(self, x: Any) -> Any:
        return self.net(x)


def main() -> None:
    threads, batch = map(int, sys.argv[1:])
    flow.set_num_threads(threads)
    graph = Lazy(resnet50(nn))
    x = flow.ones(batch, 3, 224, 224)
    obey(lambda: graph(x).numpy(), flow.__version__)


if __name__ == "__main__":
    main()
