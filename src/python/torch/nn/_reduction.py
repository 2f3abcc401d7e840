"""What a loss does with its elements' losses, as operators take it: 0 none, 1 mean, 2 sum."""


def get_enum(reduction):
    """The operators' number of a reduction."""
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    if reduction == "elementwise_mean":
        import warnings

        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return 1
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction that the older arguments stand for."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    if size_average and reduce:
        result = "mean"
    elif reduce:
        result = "sum"
    else:
        result = "none"
    if emit_warning:
        import warnings

        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{result}' instead.", stacklevel=2
        )
    return result


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The operators' number of the older arguments."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def string(size_average, reduce, reduction):
    """`reduction`, unless one of the older arguments is given."""
    if size_average is not None or reduce is not None:
        return legacy_get_string(size_average, reduce)
    return reduction


def enum(size_average, reduce, reduction):
    """The operators' number of `string`."""
    return get_enum(string(size_average, reduce, reduction))
