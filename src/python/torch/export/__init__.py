"""`torch.export`: a module as a graph of operators that takes its parameters as inputs, and what every input and output is."""

import linecache
import re

import torch

from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from .exported_program import CustomDecompTable, ExportedProgram, ModuleCallEntry, ModuleCallSignature, default_decompositions
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__all__ = [
    "AdditionalInputs", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram", "CustomDecompTable",
    "FlatArgsAdapter", "UnflattenedModule", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "default_decompositions", "dims", "draft_export", "export",
    "export_for_training", "load", "register_dataclass", "save", "unflatten",
]  # fmt: skip

_ADVICE = (
    "The error above occurred when calling torch.export.export. If you would like to view some more information about this error, "
    "and get a list of all other errors that may occur in your export call, you can replace your `export()` call with `draft_export()`."
)


def export(
    mod,
    args,
    kwargs=None,
    *,
    dynamic_shapes=None,
    strict=False,
    preserve_module_call_signature=(),
    prefer_deferred_runtime_asserts_over_guards=False,
):
    """Traces a module's `forward` for inputs like these, whose dimensions are fixed but for those that `dynamic_shapes` names."""
    from torch._arguments import unobeyed

    deferred = prefer_deferred_runtime_asserts_over_guards
    unobeyed("torch.export.export", prefer_deferred_runtime_asserts_over_guards=(deferred, False))
    from torch._dynamo.exc import UserError
    from torch._errors import GuardOnDataDependentSymNode
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    from ._trace import trace

    if not isinstance(mod, torch.nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    try:
        return trace(mod, args, kwargs, dynamic_shapes, preserve_module_call_signature, strict)
    except (UserError, GuardOnDataDependentSymNode, ConstraintViolationError) as error:
        said = _in_full(error) if isinstance(error, GuardOnDataDependentSymNode) else error
        error.args = (f"{said}\n\n{_ADVICE}",)
        raise


def _in_full(error):
    """All that PyTorch says where something is decided by a number that only a run knows."""
    place, step = None, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_name == "forward" and not code.co_filename.startswith("torch/"):
            place = (code.co_filename, step.tb_lineno)
        step = step.tb_next
    caused = f"{place[0].rpartition('/')[2]}:{place[1]} in forward" if place else ""
    raised = ""
    if "Eq(u" in str(error) and place:
        caused = "_export/non_strict_utils.py:1410 in __torch_function__"
        line = linecache.getline(*place).strip()
        raised = f'\nThe following call raised this error:\n  File "{place[0]}", line {place[1]}, in forward\n    {line}\n\n'
    symbol = re.search(r"u\d+", str(error))
    return (
        f"{error}  (Size-like symbols: none)\n\nconsider using data-dependent friendly APIs such as guard_or_false, guard_or_true and "
        "statically_known_true. If this was caused by Python `not` on a symbolic boolean, use torch.sym_not() or an equivalent "
        "comparison instead; Python `not` cannot be overloaded outside Dynamo bytecode tracing.\n"
        f'Caused by: ({caused})\nFor more information, run with TORCH_LOGS="dynamic"\nFor extended logs when we create symbols, also add '
        f'TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL="{symbol.group() if symbol else ""}"\n'
        "If you suspect the guard was triggered from C++, add TORCHDYNAMO_EXTENDED_DEBUG_CPP=1\nFor more debugging help, see "
        "https://docs.google.com/document/d/1HSuTTVvYH1pTew89Rtpeu84Ht3nQEFTYhAX3Ypa_xJs/edit?usp=sharing\n\n"
        f"For C++ stack trace, run with TORCHDYNAMO_EXTENDED_DEBUG_CPP=1\n{raised}"
    ).rstrip("\n") + ("\n" if raised else "")


def export_for_training(mod, args, kwargs=None, *, dynamic_shapes=None, strict=False, preserve_module_call_signature=(), **_):
    """What `export` does."""
    return export(
        mod, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict, preserve_module_call_signature=preserve_module_call_signature
    )


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Writes a program into a file or a buffer, in PyTorch's format (`.pt2`)."""
    from ._archive import save

    return save(ep, f, extra_files=extra_files, opset_version=opset_version, pickle_protocol=pickle_protocol)


def load(f, *, extra_files=None, expected_opset_version=None):
    """The program that `save`, here or in PyTorch, wrote. `extra_files` gets the further files in it."""
    from ._archive import load

    return load(f, extra_files=extra_files, expected_opset_version=expected_opset_version)


def register_dataclass(cls, *, serialized_type_name=None):
    """Lets a data class be an input or an output of programs: a container of its fields."""
    from torch.utils._treepaths import register_dataclass

    register_dataclass(cls, serialized_type_name=serialized_type_name)


class DraftExportReport:
    """What stood in the way of an export; in the playground only what nothing stands in the way of is exported as a draft."""

    def __init__(self):
        self.failures, self.str_to_filename, self.expressions_created, self.op_profiles = [], {}, {}, {}

    def successful(self):
        return True

    def __repr__(self):
        return f"DraftExportReport({self.failures})"

    def __str__(self):
        bar = "#" * 94
        return (
            f"\x1b[32m\n{bar}\nCongratulations: No issues are found during export, and it was able to soundly produce a graph.\n"
            f"You can now change back to torch.export.export()\n{bar}\n\x1b[0m"
        )


def draft_export(
    mod, args, kwargs=None, *, dynamic_shapes=None, strict=False, preserve_module_call_signature=(), pre_dispatch=True,
    prefer_deferred_runtime_asserts_over_guards=False,
):  # fmt: skip
    """`export`, with a report. What depends on values is not decided by the examples' here, but refused."""
    from torch._arguments import unobeyed
    from torch._dynamo.exc import UserError
    from torch._errors import GuardOnDataDependentSymNode

    unobeyed("torch.export.draft_export", pre_dispatch=(pre_dispatch, True))
    try:
        program = export(
            mod, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict, preserve_module_call_signature=preserve_module_call_signature,
            prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
        )  # fmt: skip
    except (UserError, GuardOnDataDependentSymNode) as error:
        raise NotImplementedError(f"torch.export.draft_export is not available in the playground for what export refuses: {error}") from error
    if any(str(symbol).startswith("u") for symbol in program.range_constraints):
        raise NotImplementedError("torch.export.draft_export is not available in the playground for sizes that depend on values")
    program._report = DraftExportReport()
    return program
