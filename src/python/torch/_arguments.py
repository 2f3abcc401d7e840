"""Arguments that PyTorch's functions take and the playground does not obey."""


def unobeyed(function, **given):
    """Refuses arguments that are given something other than their default; each is told as `name=(value, default)`."""
    for name, (value, default) in given.items():
        if value is not default and not (type(value) is type(default) and value == default):
            raise NotImplementedError(
                f"{function}: {name} = {value!r} is not supported in the playground, which does not obey this argument: "
                f"it can only be {default!r}"
            )
