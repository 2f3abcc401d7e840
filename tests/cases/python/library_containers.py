import abc
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import operator
import typing
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from dataclasses import asdict, astuple, dataclass, field, fields, make_dataclass, replace

c = Counter("abracadabra")
print(c, c.most_common(2), sorted(c.elements())[:4], c - Counter("aab"), c & Counter("abz"), c.total(), +Counter(a=-1, b=2))
d = deque([1, 2, 3], maxlen=4)
d.extend([4, 5])
d.rotate(1)
d.appendleft(0)
print(d, d.index(3), d.count(2), list(reversed(d)), d.maxlen)
Point = namedtuple("Point", "x y", defaults=[0])
p = Point(1)
print(p, p._replace(y=5), p._asdict(), Point._fields, Point._field_defaults, *p)
dd = defaultdict(list, a=[1])
dd["b"].append(2)
print(dd, dict(dd), dd.default_factory)
o = OrderedDict(a=1, b=2, c=3)
o.move_to_end("a")
print(o, o.popitem(last=False), list(o), o == OrderedDict(c=3, a=1))
m = ChainMap({"a": 1}, {"a": 2, "b": 3})
print(m["a"], m.maps, dict(m), m.new_child({"z": 0}), len(m))
print(list(itertools.accumulate([1, 2, 3], operator.mul, initial=2)))
print(list(itertools.product("ab", repeat=2))[:3], list(itertools.permutations([1, 2, 3], 2))[:3], list(itertools.combinations("abc", 2)))
print([(k, list(g)) for k, g in itertools.groupby("aabbca")], list(itertools.islice(itertools.count(5, 2), 3)), list(itertools.pairwise("abc")))
print(list(itertools.zip_longest("ab", "xyz", fillvalue="-")), list(itertools.chain.from_iterable([[1], [2, 3]])), list(itertools.starmap(pow, [(2, 3), (3, 2)])))
print(list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.dropwhile(lambda v: v < 3, [1, 3, 1])), list(itertools.compress("abc", [1, 0, 1])))
a, b = itertools.tee(iter([1, 2]))
print(list(a), list(b), list(itertools.repeat(7, 2)), list(itertools.filterfalse(lambda v: v % 2, range(5))), next(itertools.cycle("q")))


@functools.lru_cache(maxsize=2)
def square(x):
    return x * x


square(2), square(2), square(3)
print(square.cache_info(), functools.reduce(operator.add, [1, 2, 3], 10), functools.partial(int, base=2)("101"), functools.partial(print, 1, sep="-"))


@functools.singledispatch
def show(value):
    return "object"


@show.register
def _(value: int):
    return "int"


@show.register(list)
def _(value):
    return "list"


print(show(1), show([]), show("x"))


@functools.total_ordering
class Version:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n

    @functools.cached_property
    def slow(self):
        print("computed")
        return self.n * 10


v = Version(2)
print(v >= Version(1), v > Version(3), v.slow + v.slow, sorted([3, 1, 2], key=functools.cmp_to_key(lambda x, y: y - x)))


def traced(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        "inner's"
        return f(*args, **kwargs)
    return inner


@traced
def documented(x: int = 1) -> int:
    "documentation"
    return x


print(documented.__name__, documented.__doc__, documented.__wrapped__(4), documented.__annotations__)


@dataclass(order=True)
class Item:
    name: str
    price: float = 1.5
    tags: list = field(default_factory=list, compare=False, repr=False)
    total: float = field(init=False)

    def __post_init__(self):
        self.total = self.price * 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    a: int
    b: typing.Optional[int] = None


i = Item("x", 2.0)
print(i, asdict(i), astuple(i), replace(i, name="y"), Item("a") < Item("b"), [f.name for f in fields(Item)], dataclasses.is_dataclass(i))
f = Frozen(a=1)
print(f, hash(f) == hash(Frozen(a=1)), Frozen.__slots__)
for call in (lambda: setattr(f, "a", 2), lambda: Frozen(1), lambda: Item()):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
print(make_dataclass("Made", [("x", int), ("y", int, field(default=3))])(1))


class Color(enum.Enum):
    RED = 1
    GREEN = "g"
    ALIAS = 1

    @classmethod
    def default(cls):
        return cls.RED


class Flag(enum.Flag):
    A = enum.auto()
    B = enum.auto()
    AB = A | B


class Num(enum.IntEnum):
    ONE = 1
    TWO = 2


class Mode(str, enum.Enum):
    TRAIN = "train"


class Strings(enum.StrEnum):
    LOW = enum.auto()


print(Color.RED, repr(Color.GREEN), Color("g"), Color["RED"], Color.ALIAS is Color.RED, list(Color), Color.default().name, Color.RED.value)
print(Flag.A | Flag.B, Flag.AB in Flag, Flag.A in Flag.AB, ~Flag.A, Flag(3), Num.TWO + 1, Num.ONE < Num.TWO, f"{Num.ONE} {Mode.TRAIN} {Mode.TRAIN.value}", Strings.LOW)
print(Color.__members__.keys(), len(Color), isinstance(Color.RED, Color), enum.unique(Num) is Num)
for call in (lambda: Color(9), lambda: Color["X"], lambda: setattr(Color, "RED", 2)):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

    @property
    @abc.abstractmethod
    def name(self): ...


class Square(Shape):
    name = "square"

    def area(self):
        return 4


try:
    Shape()
except TypeError as e:
    print("abstract")
print(Square().area(), issubclass(Square, Shape), Shape.register(int), isinstance(3, Shape))


@contextlib.contextmanager
def scope(name):
    print("enter", name)
    try:
        yield name.upper()
    except KeyError as e:
        print("swallowed", e)
    finally:
        print("exit", name)


with scope("a") as s, contextlib.suppress(ZeroDivisionError):
    print(s)
    1 / 0
with scope("b"):
    raise KeyError("k")
with contextlib.ExitStack() as stack:
    stack.enter_context(scope("c"))
    stack.callback(print, "callback")
with contextlib.nullcontext(5) as five, contextlib.closing(iter([])) if False else contextlib.nullcontext():
    print(five)


@scope("decorator")
def decorated():
    return 1


print(decorated())
nested = {"a": [1, {"b": (2, 3)}]}
shallow, deep = copy.copy(nested), copy.deepcopy(nested)
nested["a"][1]["b"] = 9
print(shallow, deep, copy.copy(i) == i)
print(operator.itemgetter(1, 2)("abc"), operator.attrgetter("price")(i), operator.methodcaller("upper")("x"), operator.contains([1], 1), operator.index(True))


class Stack(typing.Generic[typing.TypeVar("T")]):
    pass


class Movie(typing.TypedDict, total=False):
    title: str


class Employee(typing.NamedTuple):
    name: str
    id: int = 3


class Closable(typing.Protocol):
    def close(self): ...


print(typing.List[int], typing.Callable[[int], str], typing.Dict[str, typing.Any], typing.Tuple[int, ...])
print(list[int], dict[str, int | None], int | str, typing.Literal["a", 1], typing.get_args(typing.Dict[str, int]), typing.get_origin(typing.List[int]))
print(Movie(title="x"), Movie.__annotations__, Employee("n"), Employee._field_defaults, Stack[int], typing.get_type_hints(Employee))
print(typing.cast(int, "x"), typing.TYPE_CHECKING, typing.ClassVar[int], typing.Final[int], typing.Annotated[int, "meta"], typing.Type[int])


@typing.overload
def over(x: int) -> int: ...
def over(x):
    return x


print(over(2), isinstance(open, typing.Callable), typing.NewType("UserId", int)(5), typing.NoReturn, typing.Iterable[int], typing.Sequence[float])
