"""The release of PyTorch that is imitated."""

from torch._C import _pytorch_version as __version__

debug = False
cuda = hip = xpu = rocm = None
git_version = None
