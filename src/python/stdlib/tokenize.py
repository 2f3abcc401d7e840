"""Python's tokens, found with regular expressions. An f-string is one token."""

import re
from collections import namedtuple
from io import BytesIO, TextIOWrapper

from token import *
from token import COMMENT, DEDENT, ENCODING, ENDMARKER, EXACT_TOKEN_TYPES, INDENT, NAME, NEWLINE, NL, NUMBER, OP, STRING, tok_name


class TokenError(Exception):
    pass


class TokenInfo(namedtuple("TokenInfo", "type string start end line")):
    """A token and where it is."""

    @property
    def exact_type(self):
        return EXACT_TOKEN_TYPES.get(self.string, self.type) if self.type == OP else self.type


_PREFIX = r"(?:[bB][rR]?|[rR][bB]?|[uU]|[fFtT][rR]?|[rR][fFtT])?"
_TOKEN = re.compile(
    rf"""[ \f\t]*(?:
    (?P<comment>\#[^\r\n]*)
  | (?P<newline>\r?\n)
  | (?P<continued>\\\r?\n)
  | (?P<triple>{_PREFIX}(?P<quotes>'''|\"""))
  | (?P<string>{_PREFIX}(?:'[^\n'\\]*(?:\\.[^\n'\\]*)*'|"[^\n"\\]*(?:\\.[^\n"\\]*)*"))
  | (?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+
      |(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?)
  | (?P<name>\w+)
  | (?P<op>\*\*=|//=|>>=|<<=|\.\.\.|->|:=|[-+*/%&|^=<>!@]=|\*\*|//|>>|<<|[-+*/%&|^~<>()\[\]{{}},:;.=@!])
  | (?P<end>$)
)""",
    re.VERBOSE,
)


def generate_tokens(readline):
    indents = [0]
    depth = number = 0
    continued = False
    long_string = None
    line = ""
    while True:
        try:
            line = readline()
        except StopIteration:
            line = ""
        number += 1
        position = 0
        if long_string is not None:
            start, text, first, quotes = long_string
            if not line:
                raise TokenError("EOF in multi-line string", start)
            end = _end_of_long(line, 0, quotes)
            if end < 0:
                long_string = start, text + line, first + line, quotes
                continue
            yield TokenInfo(STRING, text + line[:end], start, (number, end), first + line)
            long_string, position = None, end
        elif not depth and not continued:
            if not line:
                break
            stripped = line.lstrip(" \f\t")
            position = len(line) - len(stripped)
            if stripped[:1] not in ("#", "\r", "\n", ""):
                column = len(line[:position].expandtabs(8))
                if column > indents[-1]:
                    indents.append(column)
                    yield TokenInfo(INDENT, line[:position], (number, 0), (number, position), line)
                while column < indents[-1]:
                    indents.pop()
                    if column > indents[-1]:
                        raise IndentationError("unindent does not match any outer indentation level")
                    yield TokenInfo(DEDENT, "", (number, position), (number, position), line)
        elif not line:
            raise TokenError("EOF in multi-line statement", (number, 0))
        blank = not continued and not depth and line.lstrip(" \f\t")[:1] in ("#", "\r", "\n")
        continued = False
        while position < len(line):
            match = _TOKEN.match(line, position)
            if match is None:
                raise TokenError(f"unexpected character {line[position]!r}", (number, position))
            kind = match.lastgroup if match.lastgroup != "quotes" else "triple"
            if kind == "end":
                break
            start, end = match.span(kind)
            place = (number, start)
            if kind == "triple":
                quotes = match["quotes"]
                close = _end_of_long(line, end, quotes)
                if close < 0:
                    long_string = place, line[start:], line, quotes
                    break
                end = close
                yield TokenInfo(STRING, line[start:end], place, (number, end), line)
            elif kind == "continued":
                continued = True
            else:
                text = match[kind]
                if kind == "op":
                    depth += (text in "([{") - (text in ")]}")
                type = {"comment": COMMENT, "string": STRING, "number": NUMBER, "name": NAME, "op": OP}.get(kind)
                if kind == "newline":
                    type = NL if depth or blank else NEWLINE
                yield TokenInfo(type, text, place, (number, end), line)
            position = end
    for _ in indents[1:]:
        yield TokenInfo(DEDENT, "", (number, 0), (number, 0), "")
    yield TokenInfo(ENDMARKER, "", (number, 0), (number, 0), "")


def _end_of_long(line, position, quotes):
    while True:
        at = line.find(quotes, position)
        slash = line.find("\\", position)
        if at < 0:
            return -1
        if slash < 0 or slash > at:
            return at + 3
        position = slash + 2


def tokenize(readline):
    yield TokenInfo(ENCODING, "utf-8", (0, 0), (0, 0), "")
    yield from generate_tokens(lambda: readline().decode("utf-8"))


def detect_encoding(readline):
    return "utf-8", []


def open(filename):
    import linecache

    lines = linecache.getlines(filename)
    if not lines:
        raise FileNotFoundError(2, "No such file or directory", filename)
    return TextIOWrapper(BytesIO("".join(lines).encode()), "utf-8")
