"""Backends of `torch.compile`."""
