"""Forward pre-hooks that compute one parameter of a module, found by its name."""


def _find_hook(module, kind, name):
    """The key of the hook of this kind that computes the parameter; None where there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key
    return None


def _take_off(module, kind, name):
    """Removes the hook, which makes the parameter plain again; gives whether there was one."""
    key = _find_hook(module, kind, name)
    if key is None:
        return False
    module._forward_pre_hooks[key].remove(module)
    del module._forward_pre_hooks[key]
    return True
