class Wrong(Exception):
    pass


def inner(key):
    return {}[key]


def outer():
    try:
        inner("missing")
    except KeyError as error:
        raise Wrong("because of it") from error


try:
    outer()
except Wrong as wrong:
    wrong.add_note("first note")
    wrong.add_note("second note\nwith two lines")
    try:
        1 / 0
    except ZeroDivisionError:
        raise ValueError("handling both",
                         2)
