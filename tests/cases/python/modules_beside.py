# Files beside the script: modules, packages, relative imports, their names and lines.
import importlib
import importlib.util
import inspect
import linecache
import os
import sys

import areas
import shapes
from shapes import circle, total
from shapes.round.helpers import describe

print(areas.__name__, areas.__file__, areas.__package__ == "", areas.__doc__)
print(shapes.__name__, shapes.__file__, shapes.__path__, shapes.__package__)
print(circle.__name__, circle.__package__, os.path.basename(circle.__file__), circle.__spec__.parent)
print(total(), describe(circle), shapes.loaded)
print(sys.modules["areas"] is areas, "shapes.round" in sys.modules, [name for name in sys.modules if name.startswith("shapes")])
print(importlib.import_module("shapes.square") is importlib.import_module(".square", "shapes"))
print(importlib.util.find_spec("shapes.round").name, importlib.util.find_spec("nothing_here"))

import loose.inner

print(loose.inner.WHERE, loose.__name__, len(list(loose.__path__)), getattr(loose, "__file__", None))
print(inspect.getsource(areas.area), inspect.getsourcefile(areas.area) == areas.__file__, inspect.getmodule(areas.area) is areas)
print(repr(linecache.getline(areas.__file__, 1)), linecache.getline("areas_that_is_not.py", 1) == "")
with open(areas.__file__) as file:
    print(file.readline(), end="")
print(areas.__loader__.get_source("areas").splitlines()[0], areas.__loader__.is_package("areas"), areas.__spec__.origin == areas.__file__)

for name in ("absent", "areas.part", "shapes.absent", "shapes.round.absent"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(type(error).__name__, error, error.name)
try:
    from shapes import absent
except ImportError as error:
    print(type(error).__name__, str(error).split(" (")[0])
try:
    import faulty
except SyntaxError as error:
    print(error.msg, os.path.basename(error.filename), error.lineno)
try:
    import half
except ZeroDivisionError as error:
    print(error, "half" in sys.modules)

areas.UNIT = "m"
again = importlib.reload(areas)
print(again is areas, areas.UNIT, areas.area(2, 3))
if __name__ == "__main__":
    shapes.square.fails(0)
