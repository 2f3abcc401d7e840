"""What a script gets for `import numpy`, `import signal` and the like where a package or a part of one is not there: a module that
raises the ImportError when it is used, since many scripts import more than they use. An import that stands in a `try` fails at once, so that the script takes
its own way out; so does one that a library makes."""

import importlib.machinery
import linecache
import sys
import types

import _playground


def spec_of(name, message):
    """The spec of a module that says `message` when it is used; None where the import has to fail at once."""
    top = sys.modules.get(name.partition(".")[0])
    if not isinstance(top, AbsentModule) and not _may_wait():
        return None
    return importlib.machinery.ModuleSpec(name, _Loader(message), is_package=True)


def _may_wait():
    """Whether the script itself, or a file beside it, imports, and not in a `try`."""
    frame = sys._getframe()
    while frame is not None and not _playground.is_script(frame.f_code.co_filename):
        if not _is_import_machinery(frame):
            return False
        frame = frame.f_back
    if frame is None:
        return False
    import ast

    filename, line = frame.f_code.co_filename, frame.f_lineno
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return False
    statements = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    if not any(node.lineno <= line <= node.end_lineno for node in statements):
        return False
    guarded = [child for node in ast.walk(tree) if isinstance(node, ast.Try) for child in node.body]
    return not any(node.lineno <= line <= node.end_lineno for node in guarded)


def _is_import_machinery(frame):
    name = frame.f_code.co_filename
    return name.startswith("<frozen importlib") or frame.f_globals.get("__name__", "").startswith(("importlib", "_absent_package"))


class _Loader:
    def __init__(self, message):
        self.message = message

    def create_module(self, spec):
        return AbsentModule(spec.name, self.message)

    def exec_module(self, module):
        pass


class AbsentModule(types.ModuleType):
    """A package that is not there."""

    def __init__(self, name, message):
        super().__init__(name, message)
        self.__dict__["_message"] = message

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return _absent(self.__name__, f"{self.__name__}.{name}", self.__dict__["_message"])


class _Absent:
    """A name out of such a package: it can be imported and stand in an annotation, no more."""

    def __init__(self, package, path, message):
        self.__dict__.update(_package=package, _path=path, _message=message)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _absent(self._package, f"{self._path}.{name}", self._message)

    def __or__(self, other):
        return self

    __ror__ = __or__

    def _raise(self, *_arguments, **_named):
        raise ModuleNotFoundError(f"{self._message}: '{self._path}' is used", name=self._package)


for _operation in (
    "call mro_entries instancecheck subclasscheck str repr format bool int float index complex len iter next contains getitem setitem "
    "delitem setattr enter exit eq ne lt le gt ge neg pos invert abs "
    "add sub mul truediv floordiv mod pow matmul and xor lshift rshift "
    "radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand rxor rlshift rrshift"
).split():
    setattr(_Absent, f"__{_operation}__", _Absent._raise)
_Absent.__hash__ = object.__hash__


def _absent(package, path, message):
    """Such a name. Whoever refuses it names its class: the class says what it is."""
    return type(f"{path}, which is not available in the playground", (_Absent,), {})(package, path, message)


def forget():
    """Drops the modules a script was given."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, AbsentModule):
            del sys.modules[name]
