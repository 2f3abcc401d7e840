"""What is being compiled, as code asks for it."""

import enum

__all__ = ["Guard", "GuardSource", "TracingContext", "detect_fake_mode"]


class GuardSource(enum.Enum):
    """Where the value of a guard is found."""

    LOCAL = 0
    GLOBAL = 1
    SHAPE_ENV = 6
    LOCAL_UNSPECIALIZED_NN_MODULE = 12
    GLOBAL_UNSPECIALIZED_NN_MODULE = 13
    LOCAL_UNSPECIALIZED_BUILTIN_NN_MODULE = 14
    GLOBAL_UNSPECIALIZED_BUILTIN_NN_MODULE = 15

    def is_local(self):
        return self.name.startswith("LOCAL")


class Guard:
    """A guard: what a compiled graph asks of a value."""

    def __init__(self, asks, name, scope, kinds, texts):
        self._asks, self.name, self.source = asks, name, GuardSource[scope.upper()]
        self.guard_types, self.code_list = kinds or None, texts or None
        self.obj_weakref = self.guarded_class_weakref = None

    def create_fn_name(self):
        return self._asks

    def is_local(self):
        return self.source.is_local()

    def __str__(self):
        said = {
            "Source": self.source.name.lower(),
            "Create Function": self._asks,
            "Guard Types": self.guard_types,
            "Code List": self.code_list,
            "Object Weakref": self.obj_weakref,
            "Guarded Class Weakref": self.guarded_class_weakref,
        }
        return f"Name: {self.name!r}\n" + "".join(f"    {key}: {value}\n" for key, value in said.items())

    def __repr__(self):
        return f"""
        {self.source.name.lower()} {self.name!r} {self._asks}
        {{
            'guard_types': {self.guard_types},
            'code': {self.code_list},
            'obj_weakref': {self.obj_weakref}
            'guarded_class': {self.guarded_class_weakref}
        }}
        """


class TracingContext:
    """What is known of the function that is being compiled for Dynamo."""

    @staticmethod
    def try_get():
        from torch import _native_aot

        exists, _ = _native_aot._tracing_context()
        return TracingContext() if exists else None

    @staticmethod
    def get():
        found = TracingContext.try_get()
        if found is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return found

    @property
    def fw_metadata(self):
        from torch._functorch._aot_autograd.schemas import current

        return current()

    @property
    def aot_graph_name(self):
        from torch._functorch._aot_autograd.logging_utils import get_aot_compilation_context

        return get_aot_compilation_context()[0] or None

    @property
    def fake_mode(self):
        return detect_fake_mode()

    def __getattr__(self, name):
        raise AttributeError(f"TracingContext.{name} is not available in the playground")


def detect_fake_mode(inputs=None):
    """The mode of fake tensors that a script is in, or that its values belong to."""
    # Compiling needs guards, and seldom a script's modes of fake tensors, which the page does not carry.
    from torch._subclasses.fake_tensor import _detected

    found = _detected(inputs)
    if not found:
        return None
    mode, first, i = found[0]
    for other, second, j in found[1:]:
        if other is not mode:
            raise AssertionError(f"fake mode ({mode}) from {first} {i} doesn't match mode ({other}) from {second} {j}")
    return mode
