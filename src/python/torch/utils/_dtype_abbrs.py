"""Dtypes as graphs and logs print them."""

import torch

_NAMES = {
    "bfloat16": "bf16", "float64": "f64", "float32": "f32", "float16": "f16", "complex64": "c64", "complex128": "c128",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "bool": "b8", "uint8": "u8",
}  # fmt: skip

dtype_abbrs = {getattr(torch, name): short for name, short in _NAMES.items()}
