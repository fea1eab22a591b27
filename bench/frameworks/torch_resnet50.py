"""ResNet-50 by ``torch.compile``: ``torch_resnet50.py THREADS BATCH``.

A process of ``against_framework.py``, in an interpreter that has PyTorch, without headrace. Weights
are frozen and images lie channels last, which is the fastest that the framework offers for a
convolutional net in float32.
"""

import sys

import torch
import torch._inductor.config
from network import resnet50
from orders import obey
from torch import nn


def main() -> None:
    threads, batch = map(int, sys.argv[1:])
    torch.set_num_threads(threads)
    torch._inductor.config.freezing = True
    net = torch.compile(resnet50(nn).to(memory_format=torch.channels_last))
    x = torch.ones(batch, 3, 224, 224).to(memory_format=torch.channels_last)
    with torch.inference_mode():
        obey(lambda: net(x).numpy(), torch.__version__)


if __name__ == "__main__":
    main()
