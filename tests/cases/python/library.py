from __future__ import annotations

import abc
import argparse
import bisect
import collections
import contextlib
import contextvars
import copy
import dataclasses
import datetime
import enum
import fractions
import functools
import heapq
import inspect
import io
import itertools
import json
import logging
import math
import numbers
import operator
import os
import pathlib
import pprint
import re
import statistics
import string
import sys
import textwrap
import time
import traceback
import types
import typing
import warnings
import weakref
from decimal import Decimal


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: float = 2.0
    tags: list[str] = dataclasses.field(default_factory=list)


print(Point(1), Point(1) < Point(2), dataclasses.asdict(Point(3, 4.5, ["a"])), dataclasses.replace(Point(1), y=0))


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    name: str


try:
    Frozen("a").name = "b"
except dataclasses.FrozenInstanceError as error:
    print(error)


class Color(enum.Enum):
    RED = enum.auto()
    GREEN = 2


class Flag(enum.IntFlag):
    A = 1
    B = 2


print(Color.RED, repr(Color.GREEN), Color(2), list(Color), Flag.A | Flag.B, Color["RED"].name)


class Base(abc.ABC):
    @abc.abstractmethod
    def run(self): ...


try:
    Base()
except TypeError as error:
    print(type(error).__name__)

Pair = collections.namedtuple("Pair", "left right", defaults=[0])
print(Pair(1), Pair(1, 2)._asdict(), collections.Counter("abracadabra").most_common(2))
print(collections.OrderedDict(a=1), collections.defaultdict(list, {1: [2]}), collections.deque([1, 2, 3], maxlen=2))
print(collections.ChainMap({"a": 1}, {"b": 2})["b"])


class Typed(typing.NamedTuple):
    a: int
    b: str = "x"


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, item: T):
        self.item = item


print(Typed(1), Box[int](3).item, typing.get_type_hints(Point), typing.List[int])


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(50), fib.cache_info(), functools.reduce(operator.mul, range(1, 6)), functools.partial(pow, 2)(5))


@functools.singledispatch
def kind(x):
    return "object"


@kind.register
def _(x: int):
    return "int"


print(kind(1), kind("s"))


@contextlib.contextmanager
def managed(name):
    print("enter", name)
    try:
        yield name
    finally:
        print("exit", name)


with managed("a") as a, contextlib.suppress(ValueError), contextlib.ExitStack() as stack:
    stack.enter_context(managed("b"))
    raise ValueError
buffer = io.StringIO()
with contextlib.redirect_stdout(buffer):
    print("captured")
print(repr(buffer.getvalue()), io.BytesIO(b"abc").read(2))

print(list(itertools.islice(itertools.count(1, 2), 3)), list(itertools.product("ab", repeat=2))[:3])
print(list(itertools.chain([1], [2, 3])), list(itertools.accumulate([1, 2, 3])), list(itertools.pairwise("abc")))
print([(k, list(g)) for k, g in itertools.groupby("aab")], list(itertools.combinations(range(4), 2)))

print(math.pi, math.sqrt(2), math.exp(1), math.log(10), math.log2(8), math.log(8, 2), math.factorial(20), math.gcd(12, 18))
print(math.floor(-1.5), math.ceil(1.2), math.isclose(0.1 + 0.2, 0.3), math.prod([1, 2, 3]), math.comb(10, 3), math.hypot(3, 4))
print(math.erf(0.5), math.gamma(5.5), math.tanh(0.3), math.sin(1e6), math.cos(2), math.atan2(1, -1), math.fsum([0.1] * 10))
print(math.trunc(-2.7), math.copysign(1, -0.0), math.frexp(10.0), math.ldexp(0.5, 3), math.modf(2.5), math.isqrt(99), math.perm(5, 2))
for bad in (lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.exp(1000), lambda: math.factorial(-1), lambda: math.floor("x")):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, error)

print(json.dumps({"a": [1, 2.5, None, True], "b": "é\n"}, indent=2, sort_keys=True))
print(json.loads('{"x": [1, 2.0, "\\u00e9", null, false], "y": {"z": -1e3}}'), json.dumps([1, 2], separators=(",", ":")))
try:
    json.loads("{bad}")
except json.JSONDecodeError as error:
    print(error)

print(re.findall(r"(\w+)=(\d+)", "a=1, b=22"), re.sub(r"\s+", " ", "a  b\t c"), re.split(r"[,;]", "a,b;c"))
match = re.match(r"(?P<first>\w+) (?P<second>\w+)", "hello world")
print(match.groupdict(), match.span("second"), re.compile("x", re.I), re.fullmatch("a+", "aab"))
print(string.ascii_lowercase[:5], string.Template("$a and ${b}").substitute(a=1, b=2), textwrap.fill("word " * 12, 30))
print(textwrap.dedent("  a\n    b\n"), end="")
pprint.pprint({"key": list(range(30)), "other": {"nested": "x" * 50, "more": [1, 2]}})

heap = [5, 1, 4]
heapq.heapify(heap)
heapq.heappush(heap, 0)
print(heapq.heappop(heap), heapq.nlargest(2, heap), bisect.bisect([1, 3, 5], 3), fractions.Fraction(3, 6), Decimal("0.1") + Decimal("0.2"))
print(statistics.mean([1, 2, 4]), statistics.stdev([1.0, 2.0, 4.0]), statistics.median([3, 1, 2]), isinstance(1, numbers.Integral))

nested = {"a": [1, [2]]}
deep = copy.deepcopy(nested)
deep["a"][1].append(3)
print(nested, deep, copy.copy(nested) == nested)


class Target:
    pass


target = Target()
reference = weakref.ref(target)
print(reference() is target)
del target
print(reference())
print(types.SimpleNamespace(a=1), callable(print), operator.itemgetter(1)([1, 2]), operator.attrgetter("x")(Point(7)))


def documented(a, b: int = 2, *args, c, **kwargs) -> int:
    """Says what it does."""
    return a + b


print(inspect.signature(documented), inspect.getdoc(documented), inspect.isfunction(documented))
print(inspect.getsource(documented), end="")
print(os.path.join("a", "b", "../c.txt"), os.path.splitext("x.tar.gz"), os.path.basename("/a/b"), os.environ.get("NOT_SET", "d"))
os.environ["SOME"] = "thing"
print(os.environ["SOME"], os.getenv("SOME"), os.path.exists("/no/such/file"))
path = pathlib.Path("folder") / "file.txt"
print(path, path.suffix, path.stem, path.parent, path.with_suffix(".pt"), pathlib.PurePosixPath("/a/b").parts, path.exists())
try:
    open("no-such-file.txt")
except FileNotFoundError as error:
    print(error)

parser = argparse.ArgumentParser(prog="train", description="Trains.")
parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--verbose", action="store_true")
print(parser.parse_args(["--lr", "0.5", "--verbose"]))
parser.print_help()

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", stream=sys.stdout)
logging.getLogger("training").info("step %d", 3)
logging.debug("not shown")
warnings.filterwarnings("ignore", message="quiet")
warnings.warn("quiet please")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("recorded", DeprecationWarning)
print(caught[0].category.__name__, caught[0].message)
warnings.warn("seen on stderr")

try:
    raise ValueError("shown")
except ValueError:
    print(traceback.format_exc(), end="")
print(traceback.extract_stack()[-1].line)

variable = contextvars.ContextVar("variable", default=1)
token = variable.set(2)
print(variable.get(), contextvars.copy_context()[variable])
variable.reset(token)
print(variable.get())

print(time.strftime("%Y-%m-%d %H:%M:%S %a %b %j %U %W %V %G %y %p %I %%", time.gmtime(1700000000)), time.gmtime(-1), time.mktime(time.gmtime(1e9)))
started = time.perf_counter()
time.sleep(0.01)
print(0.01 <= time.perf_counter() - started < 5, time.time() > 1.6e9)
print(datetime.datetime(2024, 2, 29, 12, 30) + datetime.timedelta(days=366), datetime.date(2024, 1, 1).strftime("%A %d %B %Y"))
print(datetime.datetime.fromisoformat("2024-05-06T07:08:09").isoformat(), datetime.datetime.strptime("1 Feb 2023", "%d %b %Y"))


class Descriptor:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        return f"{owner.__name__}.{self.name}"


class Owner:
    field = Descriptor()

    def __init_subclass__(cls, **kwargs):
        print("subclass", cls.__name__, kwargs)


class Derived(Owner, option=1):
    pass


print(Derived.field)
match Point(1, 2):
    case Point(x=1, y=y):
        print("matched", y)
print([y := 5, y**2], {**{"a": 1}, "b": 2}, (lambda *a, k=1: (a, k))(1, 2, k=3))


def generator():
    received = yield 1
    print("received", received)
    yield from [2, 3]
    return 4


running = generator()
print(next(running), running.send("x"), list(running))


async def coroutine():
    return 7


try:
    coroutine().send(None)
except StopIteration as stop:
    print(stop.value)
print(sys.version_info >= (3, 8), sys.argv[0].endswith("library.py"), __name__, sys.modules["__main__"].Point is Point)
