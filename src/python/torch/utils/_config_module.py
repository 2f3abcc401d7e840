"""`patch` for modules of switches: other values for a block or a function."""

import functools


class Section:
    """Switches below another name: `config.triton.cudagraphs`, or `triton.cudagraphs` in a patch."""

    def __init__(self, **switches):
        self.__dict__.update(switches)


def _home(module, name):
    """The dictionary that a switch is in, and its name there."""
    section, _, rest = name.partition(".")
    if rest and isinstance(module.get(section), Section):
        return module[section].__dict__, rest
    return module, name


class ConfigPatch:
    """Switches with other values inside; a context manager and a decorator."""

    def __init__(self, module, changes):
        for name in changes:
            home, key = _home(module, name)
            if key not in home:
                raise AttributeError(f"{module['__name__']}.{name} does not exist")
        self.module, self.changes, self.before = module, changes, []

    def _set(self, values):
        for name, value in values.items():
            home, key = _home(self.module, name)
            home[key] = value

    def __enter__(self):
        before = {}
        for name in self.changes:
            home, key = _home(self.module, name)
            before[name] = home[key]
        self.before.append(before)
        self._set(self.changes)

    def __exit__(self, *exc):
        self._set(self.before.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def patched(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return patched


def switches_of(module):
    """The names of a module's switches with their values, those of sections with the section's name before them."""
    found = {}
    for name, value in module.items():
        if isinstance(value, Section):
            found.update({f"{name}.{key}": inner for key, inner in vars(value).items()})
        elif not name.startswith("_") and not callable(value):
            found[name] = value
    return found


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
