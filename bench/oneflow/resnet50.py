"""ResNet-50 in OneFlow's lazy mode, run on orders: the process that ``against_oneflow.py`` begins.

Runs in an interpreter that OneFlow supports, without headrace: ``resnet50.py THREADS BATCH``. It
prints a line when it is ready; then, for each line of stdin, it makes a call and prints how many
seconds that took.
"""

import sys
import time

import oneflow as flow
from oneflow import nn


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions beside a shortcut."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            *_conv(channels, width, 1, 1),
            nn.ReLU(),
            *_conv(width, width, 3, stride),
            nn.ReLU(),
            *_conv(width, 4 * width, 1, 1),
        )
        same = stride == 1 and channels == 4 * width
        self.shortcut = None if same else nn.Sequential(*_conv(channels, 4 * width, 1, stride))
        self.relu = nn.ReLU()

    def forward(self, x):
        beside = x if self.shortcut is None else self.shortcut(x)
        return self.relu(self.body(x) + beside)


def _conv(channels, outputs, kernel, stride):
    conv = nn.Conv2d(channels, outputs, kernel, stride, kernel // 2, bias=False)
    return conv, nn.BatchNorm2d(outputs)


def resnet50():
    """Of 3x224x224, 1,000 classes, with weights as they are initialised."""
    layers = [*_conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for blocks, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
            channels = 4 * width
    layers += [nn.AvgPool2d(7), nn.Flatten(), nn.Linear(2048, 1000), nn.Softmax(dim=1)]
    return nn.Sequential(*layers).eval()


class Lazy(nn.Graph):
    """The net, compiled as one job."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def build(self, x):
        return self.net(x)


def main():
    threads, batch = int(sys.argv[1]), int(sys.argv[2])
    flow.set_num_threads(threads)
    graph = Lazy(resnet50())
    x = flow.ones(batch, 3, 224, 224)
    graph(x).numpy()
    print("ready", flow.__version__, flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        graph(x).numpy()
        print(time.perf_counter() - begin, flush=True)


if __name__ == "__main__":
    main()
