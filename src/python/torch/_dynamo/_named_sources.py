"""Inputs that `torch.compiler.config` names by their sources or values: dynamic, static, unbacked."""

import re
import sys


def _config():
    """The settings, where any is set."""
    config = sys.modules.get("torch.compiler.config")
    if config is None or not (config.dynamic_sources or config.dynamic_values or config.static_sources or config.unbacked_sources):
        return None
    return config


def _names(entries, source, dim=None):
    """Whether one of the comma-separated entries names a source: in full, or by a regular expression, perhaps with `:dimension`."""
    for entry in entries.replace(" ", "").split(","):
        pattern, colon, last = entry.rpartition(":")
        pattern, wanted = (pattern, int(last)) if colon and last.isdigit() else (entry, None)
        if entry and (pattern == source or re.match(pattern, source)) and (dim is None or wanted is None or wanted == dim):
            return True
    return False


def _values(config):
    return {int(value) for value in config.dynamic_values.replace(" ", "").split(",") if value}


def marks_of(source, tensor, known, is_static):
    """What is said of a tensor's dimensions beside the script's own marks, and whether its sizes never vary."""
    config = _config()
    if config is None:
        return known, is_static
    found, values = dict(known), _values(config) if not is_static else ()
    for dim, size in enumerate(tensor.shape):
        if found.get(dim, ("maybe",))[0] in ("dynamic", "unbacked"):
            continue
        if _names(config.static_sources, source, dim):
            found[dim] = ("static", None, None)
        elif _names(config.unbacked_sources, source, dim):
            found[dim] = ("unbacked", None, None)
        elif _names(config.dynamic_sources, source, dim) or size in values:
            found[dim] = ("maybe", None, None)
    named = _names(config.dynamic_sources, source) or _names(config.unbacked_sources, source)
    return found, is_static and not named


def number(source, value):
    """Whether an integer is a symbol from the first compilation on (True) or never (False)."""
    config = _config()
    if config is None:
        return None
    if _names(config.static_sources, source):
        return False
    return True if _names(config.dynamic_sources, source) or value in _values(config) else None


def check_numbers(arguments):
    """`unbacked_sources` is obeyed for tensors."""
    config = _config()
    for name, value in arguments.items() if config is not None and config.unbacked_sources else ():
        if type(value) is int and _names(config.unbacked_sources, f"L['{name}']"):
            text = "torch.compiler.config.unbacked_sources is not supported in the playground for numbers"
            raise NotImplementedError(f"{text}: L['{name}']")
