"""The place for optional bridges to TVM, ONNX and PyTorch. Empty so far."""
