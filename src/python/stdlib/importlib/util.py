"""Looking for modules without importing them."""

import sys

from _frozen_importlib import _find_spec, _resolve_name, module_from_spec, spec_from_loader


def resolve_name(name, package):
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    if not package:
        raise ImportError(f"no package specified for {name!r} (required for relative module names)")
    return _resolve_name(name[level:], package, level)


def find_spec(name, package=None):
    name = resolve_name(name, package)
    if name in sys.modules:
        return sys.modules[name].__spec__
    parent, _, _ = name.rpartition(".")
    try:
        path = __import__(parent, fromlist=["__path__"]).__path__ if parent else None
        return _find_spec(name, path)
    except ModuleNotFoundError:
        return None
