"""The kinds of modules there are: native and frozen ones."""

from _frozen_importlib import BuiltinImporter, FrozenImporter, ModuleSpec

SOURCE_SUFFIXES = [".py"]
DEBUG_BYTECODE_SUFFIXES = OPTIMIZED_BYTECODE_SUFFIXES = BYTECODE_SUFFIXES = [".pyc"]
EXTENSION_SUFFIXES = []


def all_suffixes():
    return SOURCE_SUFFIXES + BYTECODE_SUFFIXES + EXTENSION_SUFFIXES
