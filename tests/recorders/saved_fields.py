"""Prints `crates/operators/src/saved_fields.txt`: what the nodes of PyTorch's autograd save, in the order in which its generated code does.

`python tests/record.py saved_fields`; PyYAML is needed. Names, types, order and guards follow from `derivatives.yaml`, read by `torchgen`.
"""

import os
import re

HEAD = """\
# What the nodes of PyTorch's autograd save: see dispatch::saved_fields for the notation. Names, types and order follow from PyTorch's
# tools/autograd/derivatives.yaml (BSD-3-Clause); `python tests/record.py saved_fields` writes this table.
"""

# Nodes that are written by hand, in torch/csrc/autograd/functions/tensor.cpp.
BY_HAND = ["CopyBackwards self,src | src_options:options"]

SHORT = {
    "at::Tensor": "t", "at::TensorList": "t[]", "c10::SymIntArrayRef": "n[]", "int64_t": "i", "bool": "b", "at::Scalar": "s",
    "c10::SymInt": "n", "at::IntArrayRef": "i[]", "double": "f", "torch::autograd::generated::TypeAndSize": "info",
    "at::ScalarType": "dtype", "at::Layout": "layout", "at::TensorOptions": "options", "at::OptionalIntArrayRef": "i[]?",
    "c10::string_view": "str", "at::TensorGeometry": "geometry",
}  # fmt: skip


def type_name(kind):
    from torchgen.api import types

    if isinstance(kind, types.OptionalCType):
        return type_name(kind.elem) + "?"
    if isinstance(kind, types.ListCType):
        return "t?[]"
    if isinstance(kind, (types.VectorCType, types.ArrayRefCType)):
        return type_name(kind.elem) + "[]"
    if isinstance(kind, types.MutRefCType):
        return type_name(kind.elem)
    name = f"{kind.type.ns}::{kind.type.name}" if kind.type.ns else kind.type.name
    return SHORT[name]


def served(info, saved):
    """The inputs that a saved tensor serves alone, by position: it is kept only where the gradient of one of them is asked for."""
    from torchgen.api.types import BaseCType, tensorT
    from torchgen.packaged.autograd.gen_autograd_functions import TENSOR_LIST_LIKE_CTYPES

    inputs = info.args_with_derivatives
    is_list = any(one.type in TENSOR_LIST_LIKE_CTYPES for one in inputs)
    if is_list or "backward" in info.name or len(inputs) <= 1 or saved.nctype.type != BaseCType(tensorT):
        return ""
    used = [derivative for derivative in info.derivatives if saved in derivative.saved_inputs]
    if len(used) != 1:
        return ""
    names = used[0].var_names
    if len(names) == 1:
        return f"@{[one.name for one in inputs].index(names[0])}"
    wrapped = re.search(rf"wrap_opt_if\({saved.nctype.name},(.*?)\)", used[0].formula)
    return "@" + "|".join(re.findall(r"grad_input_mask\[(\d+)\]", wrapped.group(1))) if wrapped else ""


def line(info):
    from torchgen.packaged.autograd.gen_autograd_functions import TENSOR_LIST_LIKE_CTYPES, uses_retain_variables

    inputs = ",".join(one.name + ("[]" if one.type in TENSOR_LIST_LIKE_CTYPES else "") for one in info.args_with_derivatives)
    by_name = lambda saved: str(saved.nctype.name)  # noqa: E731
    fields = [f"{s.nctype.name}:{type_name(s.nctype.type)}{served(info, s)}" for s in sorted(info.all_saved_inputs, key=by_name)]
    fields += [f"={s.nctype.name}:{type_name(s.nctype.type)}" for s in sorted(info.all_saved_outputs, key=by_name)]
    fields += ["retain_variables:b"] if uses_retain_variables(info) else []
    return f"{info.op} {inputs} | {' '.join(fields)}".rstrip(" |")


def main():
    import torchgen
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    packaged = os.path.join(os.path.dirname(torchgen.__file__), "packaged")
    native = os.path.join(packaged, "ATen/native")
    infos, _ = load_derivatives(
        os.path.join(packaged, "autograd/derivatives.yaml"), f"{native}/native_functions.yaml", f"{native}/tags.yaml"
    )
    every = [by_key["Default"] for by_key in infos.values() if "Default" in by_key]
    lines = {line(info) for info in every if info.op and info.args_with_derivatives}
    print(HEAD + "\n".join(sorted({*lines, *BY_HAND})))


if __name__ == "__main__":
    main()
