"""Importing by name."""

import sys

import _frozen_importlib as _bootstrap
from _frozen_importlib import __import__


def import_module(name, package=None):
    """Imports a module; a name that starts with dots is relative to `package`."""
    level = len(name) - len(name.lstrip("."))
    if level and not package:
        raise TypeError(f"the 'package' argument is required to perform a relative import for {name!r}")
    return _bootstrap._gcd_import(name[level:], package, level)


def invalidate_caches():
    """There are no caches."""


def reload(module):
    """Runs a module's code again, in place."""
    name = module.__spec__.name
    if sys.modules.get(name) is not module:
        raise ImportError(f"module {name} not in sys.modules", name=name)
    spec = module.__spec__ = _bootstrap._find_spec(name, None, module)
    if spec is None:
        raise ModuleNotFoundError(f"spec not found for the module {name!r}", name=name)
    _bootstrap._exec(spec, module)
    return sys.modules[name]
