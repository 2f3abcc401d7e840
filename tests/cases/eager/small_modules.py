"""Modules of the standard library that scripts import for small things."""
import base64
import binascii
import cmath
import colorsys
import configparser
import hashlib
import platform
import timeit
import uuid
from typing_extensions import Literal, TypedDict, Self, override

print(hashlib.md5(b"hello").hexdigest(), hashlib.sha1(b"abc" * 50).hexdigest(), hashlib.sha256(b"x").hexdigest()[:12])
h = hashlib.md5()
h.update(b"he")
h.update(b"llo")
print(h.hexdigest(), hashlib.new("sha1", b"").hexdigest())
for data in (b"", b"a", b"ab", b"abc", bytes(range(256))):
    assert base64.b64decode(base64.b64encode(data)) == data
print(base64.b64encode(b"any carnal pleas"), base64.urlsafe_b64encode(b"\xfb\xff\xfe"), base64.b64decode("YQ=="))
print(binascii.hexlify(b"\x00\xff"), binascii.crc32(b"hello"), base64.b16encode(b"hi"))
try:
    base64.b64decode("YQ=")
except binascii.Error as e:
    print("Error", e)
print(cmath.polar(1j), f"{cmath.exp(1j * cmath.pi).real:.3f}", cmath.sqrt(-1), f"{cmath.phase(-1 - 1j):.4f}", f"{cmath.log(2j):.4f}", f"{cmath.sin(1 + 2j):.5f}")
print(colorsys.hsv_to_rgb(0.5, 1, 1))
c = configparser.ConfigParser()
c.read_string("[train]\nlr = 0.1\nepochs = 3\n")
print(c.getfloat("train", "lr"), c["train"].getint("epochs"), c.sections())
print(isinstance(platform.python_version(), str), timeit.timeit("1 + 1", number=10) >= 0)
u = uuid.uuid4()
print(len(str(u)), u.version, uuid.UUID(str(u)) == u, uuid.uuid5(uuid.NAMESPACE_DNS, "python.org"), uuid.uuid3(uuid.NAMESPACE_DNS, "python.org"))
class P(TypedDict):
    a: int
print(P(a=1), Literal["x"])
