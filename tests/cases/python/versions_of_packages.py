"""`packaging`, as model files ask which release of torch they run on."""
import torch
from packaging import version
from packaging.specifiers import SpecifierSet
from packaging.version import Version, parse

print(version.parse(torch.__version__.split("+")[0]) >= version.parse("2.0"), Version("2.1.0+cu118").public)
print(sorted(["1.10", "1.9", "1.9rc1", "1.9.post1"], key=parse), "1.5" in SpecifierSet(">=1.0,<2"))
try:
    parse("not a version")
except version.InvalidVersion as error:
    print(error)


def f(x):
    if version.parse(torch.__version__) >= version.parse("2.0.0"):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)
    return x


print(torch.compile(f)(torch.ones(1, 1, 2, 4)).shape)
