"""ResNet-50 in the words that OneFlow and PyTorch share: both processes build their net of it."""

from typing import Any


def resnet50(nn: Any) -> Any:
    """Of 3x224x224, 1,000 classes, with weights as they are initialised.

    ``nn``: the framework's module of that name.
    """

    def convolution(channels: int, outputs: int, kernel: int, stride: int) -> Any:
        conv = nn.Conv2d(channels, outputs, kernel, stride, kernel // 2, bias=False)
        return conv, nn.BatchNorm2d(outputs)

    class Bottleneck(nn.Module):  # type: ignore[misc]
        """1x1, 3x3, 1x1 convolutions beside a shortcut."""

        def __init__(self, channels: int, width: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                *convolution(channels, width, 1, 1),
                nn.ReLU(),
                *convolution(width, width, 3, stride),
                nn.ReLU(),
                *convolution(width, 4 * width, 1, 1),
            )
            same = stride == 1 and channels == 4 * width
            beside = convolution(channels, 4 * width, 1, stride)
            self.shortcut = None if same else nn.Sequential(*beside)
            self.relu = nn.ReLU()

        def forward(self, x: Any) -> Any:
            beside = x if self.shortcut is None else self.shortcut(x)
            return self.relu(self.body(x) + beside)

    layers = [*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for blocks, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
            channels = 4 * width
    layers += [nn.AvgPool2d(7), nn.Flatten(), nn.Linear(2048, 1000), nn.Softmax(dim=1)]
    return nn.Sequential(*layers).eval()
