"""The part of PyTorch that the playground has, in PyTorch's own package layout.

Its files are frozen into the binary and read when they are imported; what is not Python is in `torch._C`.
"""

from torch._C import _pytorch_version as __version__
