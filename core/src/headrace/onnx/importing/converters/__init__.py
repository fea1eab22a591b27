"""How each ONNX op is expressed in headrace ops: one file per family, stems as in ``headrace.ops``.

Files of other stems are for what ONNX has as ops and headrace composes.

A converter is a function ``Node -> Value | tuple[Value, ...]``. It reads versions with
``node.opset`` and refuses what headrace does not run with ``node.refuse``.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.importing.node import Converter
from headrace.ops.families import FamilyTable

__all__ = ["CONVERTED", "CONVERTERS"]

CONVERTED: Mapping[str, tuple[str, ...]] = {
    "unary": (
        "Relu", "Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Exp", "Log",
        "Erf", "Sigmoid", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh",
        "Asinh", "Acosh", "Atanh",
    ),
    "binary": ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "Pow", "Mod"),
    "activation": (
        "Clip", "HardSigmoid", "HardSwish", "Swish", "LeakyRelu", "ThresholdedRelu", "Elu", "Celu",
        "Selu", "Softplus", "Softsign", "Mish", "Gelu", "PRelu", "Shrink",
    ),
    "logic": (
        "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "Not",
        "IsNaN", "IsInf", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift",
        "Where",
    ),
    "cast": ("Cast", "CastLike"),
    "matmul": ("MatMul", "Gemm", "Einsum", "Det"),
    "reduce": (
        "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "ArgMax", "ArgMin",
    ),
    "running": ("CumSum", "CumProd"),
    "softmax": ("Softmax", "LogSoftmax", "Hardmax"),
    "attention": ("TensorScatter", "RotaryEmbedding"),
    "conv": ("Conv", "ConvTranspose"),
    "pool": (
        "MaxPool", "MaxUnpool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool",
        "GlobalLpPool",
    ),
    "norm": (
        "BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization",
        "RMSNormalization", "MeanVarianceNormalization", "LRN", "LpNormalization",
    ),
    "resize": ("Resize", "Upsample"),
    "sampling": ("GridSample", "Col2Im", "AffineGrid"),
    "signal": ("DFT", "STFT", "MelWeightMatrix"),
    "shape": (
        "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Shape",
        "Size", "DepthToSpace", "SpaceToDepth",
    ),
    "slice": ("Slice", "Split", "Concat", "Pad", "Tile", "Trilu"),
    "gather": (
        "Gather", "GatherElements", "GatherND", "ReverseSequence", "Compress", "TopK", "NonZero",
        "Unique",
    ),
    "scatter": ("Scatter", "ScatterElements", "ScatterND"),
    "detection": ("NonMaxSuppression",),
    "fill": ("Constant", "ConstantOfShape", "Range", "OneHot", "EyeLike"),
    "recurrent": ("RNN", "GRU", "LSTM"),
    "quantize": ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"),
    "integer": ("MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"),
    "regions": ("RoiAlign", "MaxRoiPool"),
    "sequences": (
        "SequenceConstruct", "SequenceEmpty", "SequenceAt", "SequenceInsert", "SequenceErase",
        "SequenceLength", "SplitToSequence", "ConcatFromSequence", "Optional",
        "OptionalHasElement", "OptionalGetElement",
    ),
    "random": (
        "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli",
        "Multinomial", "Dropout",
    ),
    "deform": ("DeformConv",),
}  # fmt: skip
"""What each file has converters of: a process imports the files whose ops its models have."""

CONVERTERS: Mapping[str, Converter] = FamilyTable(
    lambda family: family.CONVERTERS, __name__, CONVERTED
)
"""The converter of every ONNX op that headrace imports, by ONNX name (default domain)."""
