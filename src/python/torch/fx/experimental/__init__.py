"""What is experimental in PyTorch."""
