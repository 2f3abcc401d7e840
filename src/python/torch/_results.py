"""Operators with several named results return a tuple whose items have names: `torch.return_types.max`."""

_made = {}


def make(operator, names, values):
    cls = _made.get(operator)
    if cls is None:
        cls = _made[operator] = _class(operator, names)
    return tuple.__new__(cls, values)


def _class(operator, names):
    def __repr__(self):
        width = len(f"torch.return_types.{operator}(")
        parts = ",\n".join(f"{name}={value!r}" for name, value in zip(names, self))
        return f"torch.return_types.{operator}(\n{parts})"

    members = {name: property(lambda self, i=i: self[i]) for i, name in enumerate(names)}
    members.update(__repr__=__repr__, _fields=names, __module__="torch.return_types")
    return type(operator, (tuple,), members)


# What has several named results, and their names. Source: PyTorch, torch.return_types.
_NAMES = {
    **dict.fromkeys("aminmax".split(), "min max"), **dict.fromkeys("cummax cummin kthvalue max median min mode nanmedian sort topk".split(), "values indices"),
    "frexp": "mantissa exponent", "geqrf": "a tau", "histogram": "hist bin_edges", "linalg_cholesky_ex": "L info", "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors", "linalg_inv_ex": "inverse info", "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U", "linalg_lu_factor": "LU pivots", "linalg_lu_factor_ex": "LU pivots info", "linalg_qr": "Q R",
    "linalg_slogdet": "sign logabsdet", "linalg_solve_ex": "result info", "linalg_svd": "U S Vh", "lu_unpack": "P L U", "qr": "Q R",
    "slogdet": "sign logabsdet", "svd": "U S V", "triangular_solve": "solution cloned_coefficient",
}  # fmt: skip


def class_of(operator):
    """The class of an operator's results by its name; None where there is none."""
    if operator not in _made and operator in _NAMES:
        _made[operator] = _class(operator, tuple(_NAMES[operator].split()))
    return _made.get(operator)
