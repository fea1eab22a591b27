"""ONNX models as headrace jobs."""
