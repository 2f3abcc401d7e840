"""`patch` for modules of switches: other values for a block or a function."""

import functools


class ConfigPatch:
    """Switches with other values inside; a context manager and a decorator."""

    def __init__(self, module, changes):
        unknown = [name for name in changes if name not in module]
        if unknown:
            raise AttributeError(f"{module['__name__']}.{unknown[0]} does not exist")
        self.module, self.changes, self.before = module, changes, []

    def __enter__(self):
        self.before.append({name: self.module[name] for name in self.changes})
        self.module.update(self.changes)

    def __exit__(self, *exc):
        self.module.update(self.before.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def patched(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return patched


def patch_of(module):
    """The `patch` of a module: `patch(name=value)`, `patch("name", value)` or `patch({"name": value})`."""

    def patch(arg1=None, arg2=None, **kwargs):
        if arg1 is None:
            changes = kwargs
        elif isinstance(arg1, str):
            changes = {arg1: arg2}
        else:
            changes = dict(arg1)
        return ConfigPatch(module, changes)

    return patch
