"""`assert_close`, with PyTorch's tolerances and messages."""

import torch

_DTYPE_PRECISIONS = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class _Mismatch(Exception):
    """A failure at a place in nested containers."""

    def __init__(self, kind, message, place):
        self.kind, self.message, self.place = kind, message, place


def default_tolerances(*inputs, dtype_precisions=None):
    """Relative and absolute tolerance for dtypes."""
    found = [
        _DTYPE_PRECISIONS.get(str(one.dtype if isinstance(one, torch.Tensor) else one).removeprefix("torch."), (0.0, 0.0))
        for one in inputs
    ]
    return max(one[0] for one in found), max(one[1] for one in found)


def _difference(kind, value, index, tolerance, exact):
    if index is None:
        text = f"{kind.title()} difference: {value}"
    else:
        text = f"Greatest {kind} difference: {value} at index {index}"
    return text if exact else f"{text} (up to {tolerance} allowed)"


def _message(what, extra, absolute, relative, rtol, atol):
    exact = rtol == 0 and atol == 0
    return "\n".join(
        [
            f"{what} are not {'equal' if exact else 'close'}!",
            "",
            extra,
            _difference("absolute", *absolute, atol, exact),
            _difference("relative", *relative, rtol, exact),
        ]
    )


def _scalar_message(actual, expected, rtol, atol):
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    extra = f"Expected {expected} but got {actual}."
    return _message("Scalars", extra, (absolute, None), (relative, None), rtol, atol)


def _tensor_message(actual, expected, matches, rtol, atol):
    count = matches.numel()
    wrong = count - int(torch.sum(matches))
    extra = f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"
    shape, matches = matches.shape, matches.flatten()
    actual, expected = actual.flatten(), expected.flatten()
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)

    def greatest(difference):
        difference[matches] = 0
        value, flat = torch.max(difference, 0)
        flat, index = int(flat), []
        for size in reversed(shape):
            flat, place = divmod(flat, size)
            index.insert(0, place)
        return value.item(), tuple(index)

    absolute = torch.abs(actual - expected)
    largest = greatest(absolute)
    relative = greatest(absolute / torch.abs(expected))
    return _message("Tensor-likes", extra, largest, relative, rtol, atol)


def _compare_tensors(actual, expected, place, options):
    def differ(attribute, first, second):
        raise _Mismatch(
            AssertionError, f"The values for attribute '{attribute}' do not match: {first} != {second}.", place
        )

    rtol, atol = options["rtol"], options["atol"]
    if rtol is None:
        rtol, atol = default_tolerances(actual, expected)
    if actual.shape != expected.shape:
        differ("shape", actual.shape, expected.shape)
    if options["check_layout"] and actual.layout != expected.layout:
        differ("layout", actual.layout, expected.layout)
    if options["check_stride"] and actual.stride() != expected.stride():
        differ("stride()", actual.stride(), expected.stride())
    if options["check_device"] and actual.device != expected.device:
        differ("device", actual.device, expected.device)
    if options["check_dtype"] and actual.dtype != expected.dtype:
        differ("dtype", actual.dtype, expected.dtype)
    if actual.is_meta or expected.is_meta:
        return
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:
        dtype = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options["equal_nan"])
    if torch.all(matches):
        return
    if actual.dim() == 0:
        message = _scalar_message(actual.item(), expected.item(), rtol, atol)
    else:
        message = _tensor_message(actual.detach(), expected.detach(), matches, rtol, atol)
    raise _Mismatch(AssertionError, message, place)


def _compare_numbers(actual, expected, place, options):
    if options["check_dtype"] and type(actual) is not type(expected):
        raise _Mismatch(
            AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.", place
        )
    rtol, atol = options["rtol"], options["atol"]
    if rtol is None:
        kinds = {int: torch.int64, float: torch.float64, complex: torch.complex128}
        rtol, atol = default_tolerances(kinds[type(actual)], kinds[type(expected)])
    if actual == expected or (options["equal_nan"] and actual != actual and expected != expected):
        return
    if abs(actual - expected) <= atol + rtol * abs(expected) and abs(actual) != float("inf"):
        return
    raise _Mismatch(AssertionError, _scalar_message(actual, expected, rtol, atol), place)


def _compare(actual, expected, place, options):
    def is_a(kind):
        return isinstance(actual, kind) and isinstance(expected, kind)

    if is_a((list, tuple)):
        if len(actual) != len(expected):
            raise _Mismatch(
                AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place
            )
        for index, pair in enumerate(zip(actual, expected)):
            _compare(*pair, (*place, index), options)
    elif is_a(dict):
        missing, extra = set(expected) - set(actual), set(actual) - set(expected)
        if missing or extra:
            raise _Mismatch(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(extra)}",
                place,
            )
        for key in sorted(actual) if all(isinstance(key, str) for key in actual) else actual:
            _compare(actual[key], expected[key], (*place, key), options)
    elif is_a(type(None)):
        return
    elif is_a(bool):
        if actual is not expected:
            raise _Mismatch(AssertionError, f"Booleans mismatch: {actual} is not {expected}", place)
    elif is_a((int, float, complex)) and not isinstance(actual, bool) and not isinstance(expected, bool):
        _compare_numbers(actual, expected, place, options)
    elif is_a(torch.Tensor) and (isinstance(actual, type(expected)) or isinstance(expected, type(actual))):
        if not options["allow_subclasses"] and type(actual) is not type(expected):
            _not_comparable(actual, expected, place)
        _compare_tensors(actual, expected, place, options)
    elif hasattr(actual, "__torch_array__") and hasattr(expected, "__torch_array__"):
        _compare(torch.as_tensor(actual), torch.as_tensor(expected), place, options)
    elif actual is None or expected is None:
        raise _Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}", place)
    else:
        _not_comparable(actual, expected, place)


def _not_comparable(actual, expected, place):
    raise _Mismatch(
        TypeError,
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
        place,
    )


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Fails unless tensors, numbers or containers of them are close."""
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}."
        )
    options = {
        "allow_subclasses": allow_subclasses,
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "check_device": check_device,
        "check_dtype": check_dtype,
        "check_layout": check_layout,
        "check_stride": check_stride,
    }
    try:
        _compare(actual, expected, (), options)
        return
    except _Mismatch as error:
        found = error
    message = found.message
    if found.place:
        message += "\n\nThe failure occurred for item " + "".join(f"[{item!r}]" for item in found.place)
    if msg is not None and found.kind is AssertionError:
        message = msg(message) if callable(msg) else msg
    raise found.kind(message)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Of old: `assert_close` without the checks of dtype, device and layout."""
    left = actual if isinstance(actual, torch.Tensor) else torch.tensor(actual)
    right = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected, dtype=left.dtype)
    if (rtol, atol) == (None, None):
        rtol, atol = default_tolerances(left, right)
    assert_close(
        left,
        right,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )
