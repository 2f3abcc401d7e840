"""Exported programs in files (`.pt2`): archives of the program as JSON, of memories of tensors and of the example inputs.

Memories are as they are; nothing that a file holds is run. Source: PyTorch, torch/export/pt2_archive/_package.py."""

import io
import json
import os

import torch
from torch import _native_archive, _storage
from torch.utils._treespecs import SUPPORTED_SERIALIZED_TYPES
from torch.serialization import _opened, archive, pickled, read_archive, record_of, unpickled, write_archive

from ._deserialize import device_of, dtype_of, one_of, read_program
from ._serialize import SerializeError, program_json, tensor_meta

_FORMAT, _VERSION = "pt2", "0"


def _told_of_path(f, what):
    """PyTorch's warning about names of files."""
    import logging

    name = f if isinstance(f, (str, os.PathLike)) else getattr(f, "name", "")
    if not (os.fspath(name).endswith(".pt2") or isinstance(f, io.IOBase)):
        logging.getLogger("torch.export.pt2_archive._package").warning("%s Instead got {%s}", what, f)


def _memories(tensors, folder, prefix, first=0):
    """The memories of some tensors as records, and what says which tensor looks at which."""
    records, told, known = {}, {}, {}
    for name, t in tensors.items():
        if type(t) not in (torch.Tensor, torch.nn.Parameter):
            raise SerializeError(f"{name}, a {type(t).__name__}, in a program in a file is not available in the playground")
        if t.is_conj() or t.is_neg():
            raise SerializeError(f"{name}, whose elements are still to be conjugated or negated, in a program in a file is not available in the playground")
        place = _storage.place(t)
        if place not in known:
            known[place] = f"{prefix}{first + len(known)}"
            records[f"{folder}{known[place]}"] = _native_archive.bytes_of(t)
        told[name] = {
            "path_name": known[place], "is_param": isinstance(t, torch.nn.Parameter), "use_pickle": False, "tensor_meta": tensor_meta(t),
        }  # fmt: skip
    return records, json.dumps({"config": told})


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Writes a program into a file, which PyTorch reads."""
    from .exported_program import ExportedProgram

    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    _told_of_path(f, "Expect archive file to be a file ending in .pt2, or is a buffer.")
    weights, weights_config = _memories(ep.state_dict, "data/weights/", "weight_")
    constants, constants_config = _memories(ep.constants, "data/constants/", "tensor_")
    # PyTorch does not write `opset_version` either.
    records = {
        **weights, "data/weights/model_weights_config.json": weights_config, **constants,
        "data/constants/model_constants_config.json": constants_config, "models/model.json": program_json(ep),
        "data/sample_inputs/model.pt": archive(pickled(ep.example_inputs, pickle_protocol)),
    }  # fmt: skip
    for name, content in (extra_files or {}).items():
        if not isinstance(content, str):
            raise AssertionError(f"Expected string but got {type(content)}")
        records[f"extra/{name}"] = content
    records |= {"archive_format": _FORMAT, "archive_version": _VERSION, ".data/version": "6\n", "byteorder": "little"}
    write_archive(f, {name: data.encode() if isinstance(data, str) else data for name, data in records.items()})
    if isinstance(f, io.IOBase):
        f.seek(0)


def _tensors(records, config, folder):
    """The tensors that a configuration tells, over their memories."""
    memories, found = {}, {}
    for name, told in json.loads(record_of(records, config))["config"].items():
        path = f"{folder}{told['path_name']}"
        if told["use_pickle"] or told.get("tensor_meta") is None:
            raise SerializeError(f"{name}, which is no plain tensor, in a program in a file is not available in the playground")
        meta = told["tensor_meta"]
        dtype, (sizes, strides) = dtype_of(meta["dtype"]), ([_whole(n) for n in meta[key]] for key in ("sizes", "strides"))
        data = record_of(records, path)
        if (path, dtype) not in memories:
            memories[path, dtype] = _native_archive.tensor_of(data, dtype) if data else torch.zeros(sizes, dtype=dtype).reshape(-1)
        t = torch.as_strided(memories[path, dtype], sizes, strides, _whole(meta["storage_offset"]))
        t = t.to(device_of(meta["device"]))
        found[name] = torch.nn.Parameter(t, requires_grad=meta["requires_grad"]) if told["is_param"] else t.requires_grad_(meta["requires_grad"])
    return found


def _whole(told):
    kind, number = one_of(told)
    if kind != "as_int" or type(number) is not int:
        raise AssertionError(f"Only as_int is supported, got {kind}")
    return number


def _nothing_elsewhere(location):
    """Tensors come from any device: they are moved, if at all, by what the file says of them."""


def _program(records):
    told = json.loads(record_of(records, "models/model.json"))
    state_dict = _tensors(records, "data/weights/model_weights_config.json", "data/weights/")
    constants = _tensors(records, "data/constants/model_constants_config.json", "data/constants/")
    example = record_of(records, "data/sample_inputs/model.pt")
    # Containers that the script has registered are known by it.
    added = [cls for cls in SUPPORTED_SERIALIZED_TYPES if isinstance(cls, type)]
    example = unpickled(example, _nothing_elsewhere, added=added) if example else None
    if example is not None and not (isinstance(example, tuple) and list(map(type, example)) == [tuple, dict]):
        raise SerializeError("the example inputs of the program are no arguments")
    return read_program(told, {**state_dict, **constants}, example, state_dict, constants)


def load(f, *, extra_files=None, expected_opset_version=None):
    """The program of a file that `save`, here or in PyTorch, wrote. `extra_files` gets the further files in it."""
    _told_of_path(f, "Unable to load package. f must be a buffer or a file ending in .pt2.")
    with _opened(f, "rb") as file:
        data = file.read()
    try:
        records = read_archive(data)
        if record_of(records, "archive_format") != _FORMAT.encode():
            raise AssertionError("Invalid archive format")
        version = record_of(records, "archive_version").decode()
        if version != _VERSION:
            raise ValueError(f"Saved archive version {version} does not match our current archive version {_VERSION}.")
        program = _program(records)
    except RuntimeError as error:
        if isinstance(error, (NotImplementedError, RecursionError)):
            raise
        raise RuntimeError(
            "We ran into an error when deserializing the saved file. Please check the warnings above for possible errors. "
        ) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise SerializeError(f"the program in the file is malformed: {type(error).__name__}: {error}") from error
    for name, content in records.items():
        if name.startswith("extra/") and extra_files is not None:
            extra_files[name[len("extra/") :]] = content.decode()
    return program


__all__ = ["load", "save"]
