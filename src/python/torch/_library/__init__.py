"""What `torch.library` is made of."""

from torch._library.custom_ops import CustomOpDef
from torch._library.infer_schema import infer_schema

__all__ = ["CustomOpDef", "infer_schema"]
