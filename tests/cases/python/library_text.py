import argparse
import inspect
import io
import json
import logging
import math
import operator
import os
import pprint
import re
import string
import sys
import textwrap
import time
import unittest
import warnings
from pathlib import Path, PurePosixPath

print(json.dumps({"b": [1, 2.5, None, True, "é\n"], "a": {"x": float("inf")}}, sort_keys=True), json.dumps([1, {"a": 2}], indent=2))
print(json.loads('{"a": [1, 2.0, "x\\u00e9", null, false], "b": {"c": -1e3}}'), json.dumps((1, 2), separators=(",", ":")), json.dumps("é", ensure_ascii=False))
for text in ('{"a": }', "[1, 2", "nope", '{"a" 1}'):
    try:
        json.loads(text)
    except json.JSONDecodeError as e:
        print(e)
try:
    json.dumps({1, 2})
except TypeError as e:
    print(e)


class Encoder(json.JSONEncoder):
    def default(self, o):
        return sorted(o) if isinstance(o, set) else super().default(o)


print(json.dumps({"s": {3, 1}}, cls=Encoder), json.loads("[1.5]", parse_float=str))
buffer = io.StringIO()
json.dump({"x": 1}, buffer)
buffer.seek(0)
print(json.load(buffer), buffer.tell())
print(re.findall(r"(\w+)=(\d+)", "a=1, b=22"), re.sub(r"(?P<first>\w)(\w*)", lambda m: m["first"].upper() + m[2], "hello big world"), re.split(r"[,;]\s*", "a, b;c"))
m = re.match(r"(?P<y>\d{4})-(?P<m>\d\d)", "2024-05-06")
print(m, m.groupdict(), m.span("m"), m.group(0, 1), re.search("z", "abc"), re.fullmatch(r"a.c", "a\nc", re.S))
print(re.compile(r"\bfoo\b", re.I | re.M), re.escape("a.b*c"), [x.start() for x in re.finditer("a", "banana")], re.sub(r"\d", "#", "a1b2", count=1), re.subn("a", "", "aa"))
print(re.findall(r"(?<=\$)\d+(?!\d)", "$12 $345"), re.sub(r"(.)\1", r"<\1>", "aabbc"), re.split(r"(\d)", "a1b2c"), re.findall(r"(?i)AB", "abAB"))
try:
    re.compile("(unclosed")
except re.error as e:
    print(e)
print(string.ascii_lowercase[:5], string.digits, string.punctuation, string.Template("$a and ${b}").substitute(a=1, b=2), string.capwords("a bc"))
print("{:>10.3f}|{:<6}|{:^7}|{:+d}|{:,}|{:_}|{:e}|{:g}|{:%}|{!r}".format(3.14159, "ab", "mid", 5, 1234567, 1234567, 12345.678, 0.0001, 0.25, "q"))
print(f"{255:b} {255:o} {255:X} {255:#010x} {-7 // 2} {-7 % 3} {7.5 // 2} {1e100} {1e16} {1.0} {0.1 + 0.2} {2**70} {10**20:.3e} {12.5:08.2f} {'x':*^5} {3!r:>4}")
print("%5.2f|%-5d|%05d|%s|%r|%x|%e|%%|%c|%+.1f|%(k)s" % {"k": 1} if False else "%5.2f|%-5d|%05d|%s|%r|%x|%e|%%|%c|%+.1f" % (3.14159, 42, 42, "s", "r", 255, 12345.678, "c", 2.55))
print("a,b,,c".split(","), " x y ".split(), "abc".partition("b"), "aXbX".rsplit("X", 1), "abc".center(9, "*"), "t".zfill(3), "ab\tc".expandtabs(4), "ß".casefold(), "x".join("123"))
print("hello".translate(str.maketrans("el", "ip")), "Hello".swapcase(), "a-b_c".title(), "abc".removeprefix("a"), "abc".removesuffix("c"), "12".isdigit(), "é".encode(), b"\xc3\xa9".decode(), "abcabc".find("c", 3))
print(textwrap.fill("The quick brown fox jumps over the lazy dog and runs away", 20), textwrap.dedent("""
    a
      b
"""), textwrap.indent("a\nb", "> "), textwrap.wrap("aaa bbb ccc", 7), textwrap.shorten("Hello  world!", width=11))
pprint.pprint({"key": list(range(30)), "other": {"nested": ["x" * 30, "y" * 30, "z" * 30]}, "t": (1,)})
pprint.pprint([{"a": 1}, "b"], width=10, indent=2)
print(pprint.pformat({"b": 1, "a": 2}, sort_dicts=False), pprint.isreadable([1]))
print(math.factorial(20), math.gcd(12, 18), math.lcm(4, 6), math.comb(10, 3), math.perm(5, 2), math.isclose(0.1 + 0.2, 0.3), math.hypot(3, 4), math.prod([1, 2, 3]))
print(math.floor(-1.5), math.ceil(-1.5), math.trunc(-1.5), math.fmod(-7, 3), math.modf(2.25), math.frexp(8.0), math.ldexp(0.5, 4), math.copysign(1, -0.0), math.isqrt(17), math.log2(8), math.log(8, 2), math.log1p(1e-10))
print(math.erf(0.5), math.gamma(5), math.lgamma(3.0), math.degrees(math.pi), math.fsum([0.1] * 10), math.dist([0, 0], [1, 1]), math.inf, -math.nan, math.tau, math.nextafter(1.0, 2.0), math.ulp(1.0), math.exp2(3))
for call in (lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.factorial(-1), lambda: math.exp(1000), lambda: int("x"), lambda: [][0], lambda: {}["k"], lambda: 1 / 0, lambda: "a" + 1):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
print(round(2.5), round(3.5), round(-0.5), round(2.675, 2), round(1234, -2), divmod(-7, 2), pow(3, -1, 7), abs(-3 + 4j), complex("1+2j"), (1 + 2j) * 3, int("0x1f", 16), float("1e-3"), bin(-5), hash(1) == hash(1.0))
parser = argparse.ArgumentParser(prog="tool", description="A tool.")
parser.add_argument("path", nargs="?", default="x")
parser.add_argument("--n", type=int, default=3, help="how many (default: %(default)s)")
parser.add_argument("--flag", action="store_true")
parser.add_argument("--mode", choices=["a", "b"], default="a", metavar="M")
parser.add_argument("--list", nargs="+", type=float)
parser.add_argument("--no-x", dest="x", action="store_false")
sub = argparse.ArgumentParser(add_help=False, parents=[parser] if False else [])
group = parser.add_argument_group("more")
group.add_argument("-v", "--verbose", action="count", default=0)
print(parser.parse_args([]), parser.parse_args(["p", "--n", "5", "--flag", "--list", "1", "2", "-vv", "--mode=b"]), parser.parse_known_args(["--unknown", "1"])[1])
print(parser.format_usage())
print(parser.format_help())
logging.basicConfig(stream=sys.stdout, format="%(levelname)s:%(name)s:%(message)s", level=logging.INFO)
log = logging.getLogger("app.sub")
log.debug("hidden")
log.info("shown %d %s", 1, {"a": 2})
log.warning("warned")
try:
    1 / 0
except ZeroDivisionError:
    log.error("failed", exc_info=False)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("[{levelname:>8}] {message}", style="{"))
other = logging.getLogger("other")
other.propagate = False
other.addHandler(handler)
other.setLevel("DEBUG")
other.debug("styled")
print(log.isEnabledFor(logging.DEBUG), logging.getLevelName(30), other.name, log.parent, log)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("careful", DeprecationWarning)
    warnings.warn("twice")
print([(w.category.__name__, str(w.message)) for w in caught])
warnings.simplefilter("error", RuntimeWarning)
try:
    warnings.warn("as error", RuntimeWarning)
except RuntimeWarning as e:
    print("raised", e)


def function(a, b: int = 2, *args, c, d=4, **kwargs) -> str:
    """The doc.

    More."""
    return ""


s = inspect.signature(function)
print(s, list(s.parameters), s.parameters["b"].default, s.parameters["c"].kind, s.return_annotation, s.bind(1, c=3).arguments)
print(inspect.getdoc(function), inspect.isfunction(function), inspect.isclass(int), inspect.getfullargspec(function), inspect.ismodule(re), inspect.isgenerator(x for x in []))
p = PurePosixPath("/a/b/c.tar.gz")
print(p.name, p.stem, p.suffix, p.suffixes, p.parent, list(p.parents), p.with_suffix(".zip"), p.with_name("d"), p / "e", p.relative_to("/a"), p.is_absolute(), p.parts, p.match("*.gz"))
print(Path("a") / "b" / ".." / "c", Path("x/y").as_posix(), repr(Path("q")), Path("a") == Path("./a"), sorted([Path("b"), Path("a")]), os.fspath(Path("z")))
print(os.path.join("a", "/b", "c"), os.path.splitext("f.tar.gz"), os.path.basename("/x/y"), os.path.dirname("/x/y"), os.path.normpath("a/./b/../c"), os.path.split("a/b"), os.sep)
os.environ["MY_VAR"] = "1"
print(os.environ.get("MY_VAR"), os.getenv("NOPE_X", "d"), "MY_VAR" in os.environ)
b = io.BytesIO(b"abc\ndef\n")
print(b.readline(), b.read(), b.getvalue()[:2], io.StringIO("x\ny\n").readlines(), io.TextIOWrapper(io.BytesIO(b"t\xc3\xa9")).read())
start = time.time()
print(time.time() >= start, time.perf_counter() >= 0, time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(86400 * 365)), time.monotonic() >= 0, type(time.time_ns()).__name__)


class Case(unittest.TestCase):
    def setUp(self):
        self.value = 3

    def test_ok(self):
        self.assertEqual(self.value, 3)
        self.assertAlmostEqual(0.1 + 0.2, 0.3)
        with self.assertRaises(ZeroDivisionError):
            1 / 0
        for i in range(2):
            with self.subTest(i=i):
                self.assertIn(i, [0, 1])

    def test_fails(self):
        self.assertEqual([1, 2], [1, 3])

    @unittest.skip("not now")
    def test_skipped(self):
        pass


result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
print(result.testsRun, len(result.failures), len(result.skipped), result.wasSuccessful(), result.failures[0][1].splitlines()[-2:] if result.failures else "")
print("\N{BULLET} \N{greek small letter alpha} \N{LATIN SMALL LETTER E WITH ACUTE} \N{HANGUL SYLLABLE GAG}")
for text in (r'"\N{NO SUCH CHARACTER}"', r'"\N{BULLET"'):
    try:
        eval(text)
    except SyntaxError as e:
        print(type(e).__name__)
