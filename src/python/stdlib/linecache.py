"""Lines of source files: of the script, and of files beside it."""

import _playground


class _Cache(dict):
    """Whatever script is running is in the cache."""

    def __contains__(self, filename):
        return super().__contains__(filename) or _playground.lines(filename) is not None


cache = _Cache()


def getlines(filename, module_globals=None):
    if dict.__contains__(cache, filename):
        return cache[filename][2]
    return _playground.lines(filename) or []


def getline(filename, lineno, module_globals=None):
    lines = getlines(filename, module_globals)
    return lines[lineno - 1] if 1 <= lineno <= len(lines) else ""


updatecache = getlines


def clearcache():
    cache.clear()


def checkcache(filename=None):
    pass


def lazycache(filename, module_globals):
    return False
