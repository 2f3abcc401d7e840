"""Modules of settings: `torch._dynamo.config` and its like.

Each is made from a table that has a row for every name PyTorch has there: its default, and what becomes of it here. A setting is
*obeyed*, and then the row names the case that shows it; or it has *no effect* here, and the row says why; or it is *refused*:
giving it anything but its default raises an error that names it. Nothing is taken and then forgotten.

Values lie in the module's dictionary, so that reading one costs no call; `__getattr__` is asked for other names, deprecated names
that were not read yet, and names of settings of other modules.
"""

import contextlib
import copy
import functools
import hashlib
import importlib
import os
import pickle
import sys
import warnings
from types import ModuleType

_UNSET = object()
_SCALARS = (int, float, bool, type(None), str, tuple)

# Why a setting has no effect here: what rows of the tables name.
REASONS = {
    "autotuning": "nothing is tuned: no kernel has variants to choose from",
    "caches": "nothing is kept from one run of a script to the next",
    "checks": "turns checks of the compiler's own work on or off, which pass",
    "cuda": "there are no CUDA devices, so no CUDA graphs",
    "deprecated": "PyTorch has the name and does not read it",
    "distributed": "there is one process",
    "eager": "operators compute as in eager mode under every backend",
    "files": "the compiler writes no logs, traces or profiles to files; the page and --emit show its graphs",
    "guards": "decides how fast guards are checked, not what they say",
    "kernels": "decides how kernels are generated; graphs run operator by operator",
    "missing": "belongs to a part of PyTorch that is not available here, whose functions say so when they are called",
    "names": "is the module's own: what is not saved, or ignored, in exports of the settings",
    "numpy": "numpy runs outside of graphs here",
    "pre_grad": "belongs to rewrites of the captured graph that give the same values and that are not made here",
    "views": "views are made anew by their view operators either way, and are the same tensors",
    "steps": "limits the time of z3: validation counts its steps instead, so that it says the same everywhere",
    "speed": "decides how much time or memory compiling takes",
}

# How an environment variable is read. What is read as a flag is not a default: exports of the settings name it.
_READERS = {
    "one": lambda text: text == "1",
    "not_zero": lambda text: text != "0",
    "set": bool,
    "int": int,
    "float": float,
    "ints": lambda text: tuple(map(int, text.split(","))),
    "text": str,
    "flag": lambda text: {"0": False, "1": True}.get(text, text),
    "maybe": lambda text: {"0": False, "1": True}.get(text),
}


class ConfigEntry:
    """What is known of a setting."""

    def __init__(self, default, how, env="", alias=None, deprecated=None, is_checked=True):
        self.default, self.how, self.alias, self.deprecated = default, how, alias, deprecated
        self.env = env.split()
        self.value_type = type(default) if is_checked else None


def _guarded(kind, *methods):
    """A class of containers that a script may not change: what settings that are refused hold."""

    def refuse(self, *_):
        raise _refusal(self.name, "...", kind(self))

    def copied(self):
        return kind, tuple(kind(self) and [kind(self)])

    names = {"name": "", "__repr__": lambda self: repr(kind(self)), "__reduce__": copied}
    return type(kind.__name__, (kind,), names | dict.fromkeys(methods, refuse))


_GUARDED = {
    list: _guarded(list, "append", "extend", "insert", "__iadd__", "__setitem__"),
    set: _guarded(set, "add", "update", "__ior__"),
    dict: _guarded(dict, "update", "setdefault", "__ior__", "__setitem__"),
}


def _refusal(name, value, default):
    return NotImplementedError(
        f"{name} = {value if value == '...' else repr(value)} is not supported in the playground, which does not obey this setting: it can only be {default!r}"
    )


class ConfigModule(ModuleType):
    """A module of settings."""

    def __getattr__(self, name):
        entry = self._config.get(name)
        if entry is None or name in self._hidden:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        self._warn_if_deprecated(name, entry)
        if entry.alias is not None:
            module, _, other = entry.alias.rpartition(".")
            return getattr(importlib.import_module(module), other)
        return self._values[name]

    def __setattr__(self, name, value):
        entry = self._config.get(name)
        if entry is None:
            if name.startswith("__"):
                return super().__setattr__(name, value)
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        self._warn_if_deprecated(name, entry)
        if entry.alias is not None:
            module, _, other = entry.alias.rpartition(".")
            return setattr(importlib.import_module(module), other, value)
        if entry.how == "refused":
            if value != entry.default:
                raise _refusal(f"{self.__name__}.{name}", value, entry.default)
            value = self._values[name]
        self._hidden.discard(name)
        self._changed.add(name)
        self._put(name, value)

    def __delattr__(self, name):
        # As `unittest.mock.patch` expects: the name is gone until it is set again.
        self._config[name]
        self._changed.discard(name)
        self._put(name, copy.deepcopy(self._config[name].default))
        self._hidden.add(name)
        self.__dict__.pop(name, None)

    def _put(self, name, value):
        self._values[name] = value
        self.__dict__["_hash"] = None
        self._show(name, value)
        for source, targets in self._implied.items():
            if name == source or name in targets:
                self._imply(source, targets)

    def _show(self, name, value):
        if name not in self._hidden and self._config[name].deprecated is None:
            self.__dict__[name] = value

    def _imply(self, source, targets):
        """A setting that others follow: what they are while it has a value that says so."""
        for target, by_value in targets.items():
            self._show(target, by_value.get(self._values[source], self._values[target]))

    def _warn_if_deprecated(self, name, entry):
        if entry.deprecated is None or name in self._warned:
            return
        self._warned.add(name)
        text = f"{self.__name__}.{name} is deprecated and {entry.deprecated}. It will be removed in a future version of PyTorch."
        warnings.warn(text, FutureWarning, stacklevel=3)

    def _is_default(self, name):
        entry = self._config[name]
        unset = name not in self._changed or not isinstance(entry.default, _SCALARS) and self._values[name] == entry.default
        return unset and name not in self._from_environment

    def _get_dict(self, ignored=(), prefixes=(), skip_default=False):
        found = {}
        for name, entry in self._config.items():
            left_out = entry.alias is not None or name in ignored or name.startswith(tuple(prefixes))
            if not left_out and not (skip_default and self._is_default(name)):
                value = self._values[name]
                found[name] = value if isinstance(value, _SCALARS) else copy.deepcopy(value)
        return found

    def _ignored(self):
        return self.__dict__.get("_save_config_ignore", ())

    def get_type(self, config_name):
        """The type of a setting's values."""
        return self._config[config_name].value_type

    def save_config(self):
        """The settings, pickled."""
        return pickle.dumps(self._get_dict(self._ignored()), protocol=2)

    def save_config_portable(self, *, ignore_private_configs=True, readonly_values=False):
        """The settings that do not depend on the machine, by name."""
        prefixes = ["_"] if ignore_private_configs else []
        return self._get_dict(prefixes=prefixes + list(self.__dict__.get("_cache_config_ignore_prefix", ())))

    def codegen_config(self):
        """Python statements that set what is not at its default."""
        imports, lines = set(), []
        for name, value in self._get_dict(self._ignored(), skip_default=True).items():
            lines.append(_statement(f"{self.__name__}.{name}", value, imports))
        return "\n".join([f"import {module}" for module in sorted(imports)] + lines)

    def get_hash(self):
        """A hash of the settings that compiled code depends on."""
        if self.__dict__.get("_hash") is None:
            items = sorted(self._get_dict(self._compile_ignored_keys).items())
            self.__dict__["_hash"] = hashlib.md5(repr(items).encode("utf-8")).digest()
        return self.__dict__["_hash"]

    def to_dict(self):
        """The settings by name."""
        return self._old_copy("to_dict")

    def shallow_copy_dict(self):
        """The settings by name."""
        return self._old_copy("shallow_copy_dict")

    def _old_copy(self, name):
        text = (
            f"`config.{name}()` has been deprecated. It no longer changes the underlying config."
            " use `config.get_config_copy()` instead if you just want a copy of the config, or "
            "config.load_config if you need mutable access"
        )
        warnings.warn(text, FutureWarning, stacklevel=3)
        return self.get_config_copy()

    def load_config(self, maybe_pickled_config):
        """Sets what `save_config` or `get_config_copy` gave."""
        config = maybe_pickled_config
        if not isinstance(config, dict):
            config = pickle.loads(config)
        for name, value in config.items():
            if name in self._config:
                setattr(self, name, value)
            else:
                _warn_once(f"key {name} with value {value} is not understood by this config")

    def get_config_copy(self):
        """The settings by name."""
        return self._get_dict()

    def get_serializable_config_copy(self):
        """The settings that `save_config` saves, by name."""
        return self._get_dict(self._ignored())

    def patch(self, arg1=None, arg2=None, **kwargs):
        """Other values for a block or a function: `patch(name=value)`, `patch("name", value)` or `patch({"name": value})`."""
        if arg1 is not None:
            if arg2 is not None:
                if not isinstance(arg1, str):
                    raise AssertionError("first argument must be a string when passing 2 positional args to patch")
                changes = {arg1: arg2}
            else:
                if not isinstance(arg1, dict):
                    raise AssertionError("first argument must be a dict when passing a single positional arg to patch")
                changes = arg1
            if kwargs:
                raise AssertionError("cannot pass both positional and keyword arguments to patch")
        else:
            changes = kwargs
            if arg2 is not None:
                raise AssertionError("second positional argument is only valid when first argument is a key string")
        return ConfigPatch(self, changes)

    def _make_closure_patcher(self, **changes):
        """A function that sets these and gives the function that sets them back."""

        def change():
            patch = ConfigPatch(self, changes)
            patch.__enter__()
            return functools.partial(patch.__exit__, None, None, None)

        return change


class ConfigPatch(contextlib.ContextDecorator):
    """Settings with other values inside; a context manager and a decorator."""

    def __init__(self, config, changes):
        self.config, self.changes, self._prior = config, changes, []

    def __enter__(self):
        self._prior.append({name: getattr(self.config, name) for name in self.changes})
        try:
            self._set(self.changes)
        except BaseException:
            self._set(self._prior.pop())
            raise

    def __exit__(self, exc_type, exc_val, exc_tb):
        self._set(self._prior.pop())

    def _set(self, values):
        for name, value in values.items():
            setattr(self.config, name, value)


class SubConfigProxy:
    """Settings below another name: `config.triton.cudagraphs` is the setting `triton.cudagraphs`."""

    def __init__(self, config, prefix):
        super().__setattr__("_config", config)
        super().__setattr__("_prefix", prefix)

    def __getattr__(self, name):
        return getattr(self._config, self._prefix + name)

    def __setattr__(self, name, value):
        setattr(self._config, self._prefix + name, value)

    def __delattr__(self, name):
        delattr(self._config, self._prefix + name)


@functools.cache
def _warn_once(text):
    warnings.warn(text, UserWarning, stacklevel=4)


def _reference(function, imports):
    """How code names a function, which is imported for it."""
    module = "" if function.__module__ == "builtins" else function.__module__
    if module:
        imports.add(module)
    return f"{module}.{function.__name__}" if module else function.__name__


def _is_named(value):
    return callable(value) and hasattr(value, "__module__") and hasattr(value, "__name__")


def _statement(target, value, imports):
    if isinstance(value, functools.partial):
        return f"# {target} omitted: partial callable cannot be re-imported"
    if _is_named(value):
        return f"{target} = {_reference(value, imports)}"
    if isinstance(value, (list, set)) and all(map(_is_named, value)):
        items = [_reference(item, imports) for item in value]
        return f"{target} = {items}" if isinstance(value, list) else f"{target} = {{ {', '.join(items)} }}"
    return f"{target} = {value!r}"


def _from_environment(entry):
    """What the environment says of a setting, `_UNSET` where it says nothing. Of several variables the first that is set counts."""
    *variables, reader = entry.env or ("",)
    for variable in variables:
        if (text := os.environ.get(variable)) is not None:
            return _READERS[reader](text)
    return _UNSET


def install(module_name, rows, *, aliases=(), deprecated=(), several_types=(), compile_ignored=(), implied=()):
    """Makes a module of settings of an ordinary one.

    A row is `(name, default, how)` or `(name, default, how, env)`: `how` is "obeyed TOPIC/CASE", "no effect REASON" or "refused";
    `env` names environment variables and, last, how they are read. `several_types` names settings that take values of several types."""
    module = sys.modules[module_name]
    aliases, deprecated, implied = dict(aliases), dict(deprecated), dict(implied)
    config = {}
    for name, default, how, *env in rows:
        is_checked = name not in several_types
        config[name] = ConfigEntry(default, how, *env, alias=aliases.get(name), deprecated=deprecated.get(name), is_checked=is_checked)
    own = module.__dict__
    own.update(_config=config, _values={}, _changed=set(), _hidden=set(), _warned=set(), _from_environment=set())
    own.update(_compile_ignored_keys=frozenset(compile_ignored), _implied={}, _hash=None)
    module.__class__ = ConfigModule
    for name, entry in config.items():
        if entry.alias is not None:
            continue
        default = entry.default
        if entry.how == "refused" and type(default) in _GUARDED:
            default = _GUARDED[type(default)](default)
            default.name = f"{module_name}.{name}"
        given = _from_environment(entry)
        if given is not _UNSET and given != default:
            if entry.how == "refused":
                raise _refusal(f"{module_name}.{name}", given, default)
            own["_values"][name] = given
            if entry.env[-1] == "flag":
                own["_from_environment"].add(name)
            else:
                entry.default = given
        else:
            own["_values"][name] = default if isinstance(default, _SCALARS) or default is not entry.default else copy.deepcopy(default)
        module._show(name, own["_values"][name])
        *above, _ = name.split(".")
        if above and above[0] not in own:
            own[above[0]] = SubConfigProxy(module, above[0] + ".")
    own["_implied"] = implied
