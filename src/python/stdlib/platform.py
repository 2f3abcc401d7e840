"""What the playground runs on, as far as there is something to say."""

import sys


def python_version():
    return sys.version.split()[0]


def python_implementation():
    return sys.implementation.name


def system():
    return "Playground"


def machine():
    return "wasm32"


def release():
    return ""


version = processor = release


def node():
    return "playground"


def platform(aliased=False, terse=False):
    return "Playground-wasm32"
