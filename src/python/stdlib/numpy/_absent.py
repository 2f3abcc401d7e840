"""Names of numpy that are not here: what is said where one is asked for."""

INSTEAD = {
    "fft": "torch.fft", "ma": "a mask: a[mask]", "matrix": "np.array", "load_library": None, "loadtxt": "np.array of lists",
    "genfromtxt": "np.array of lists", "savetxt": "print", "memmap": "np.empty", "einsum_path": "np.einsum", "char": "str", "strings": "str",
    "rec": "a dict of arrays", "recarray": "a dict of arrays", "float128": "np.float64", "longdouble": "np.float64",
    "complex256": "np.complex128", "clongdouble": "np.complex128", "datetime64": "datetime", "timedelta64": "datetime",
    "polynomial": "np.polyfit and np.polyval", "nditer": "np.ndindex", "matlib": "np", "ctypeslib": "torch", "kaiser": "torch.kaiser_window",
    "lib": "np", "f2py": None, "i0": "torch.special.i0",
}
REMOVED = {
    "float_": "float64", "complex_": "complex128", "unicode_": "str_", "string_": "bytes_", "Inf": "inf", "Infinity": "inf", "NaN": "nan",
    "infty": "inf", "PINF": "inf", "NINF": "-np.inf", "cast": "asarray", "product": "prod", "cumproduct": "cumprod", "sometrue": "any",
    "alltrue": "all", "in1d": "isin", "trapz": "trapezoid", "row_stack": "vstack", "round_": "round", "float": "float64", "int": "int64",
    "object": "object_", "asfarray": "asarray", "find_common_type": "promote_types", "sctypes": "dtype", "mat": "array",
}
BUILTINS = ("int", "float", "complex", "object", "str", "long", "unicode")


def attribute_error(module, name):
    """The AttributeError of a name that a module lacks."""
    text = f"module '{module}' has no attribute '{name}'"
    if name.startswith("__"):
        return AttributeError(text)
    if module == "numpy" and name in BUILTINS:
        return AttributeError(f"{text}. `np.{name}` was a deprecated alias for the builtin `{name}`, which numpy removed: write `{name}`")
    if module == "numpy" and name in REMOVED:
        return AttributeError(f"{text}. numpy 2 removed it: write `np.{REMOVED[name]}`")
    instead = INSTEAD.get(name)
    hint = f"; write {instead} instead" if instead else ""
    return AttributeError(f"{text} (the playground's numpy has no {module}.{name}{hint})")


def unavailable(what, instead=None):
    """The error of something that numpy does and this does not."""
    return NotImplementedError(f"numpy: {what} is not available in the playground" + (f"; write {instead} instead" if instead else ""))
