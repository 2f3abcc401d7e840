"""Tables as lines of text: readers and writers, of lists and of dictionaries."""

QUOTE_MINIMAL, QUOTE_ALL, QUOTE_NONNUMERIC, QUOTE_NONE = range(4)


class Error(Exception):
    """A line that is no row."""


class Dialect:
    """How a table is written."""

    delimiter, quotechar, escapechar = ",", '"', None
    doublequote, skipinitialspace, lineterminator, quoting, strict = True, False, "\r\n", QUOTE_MINIMAL, False


class excel(Dialect):
    """Commas."""


class excel_tab(excel):
    """Tabs."""

    delimiter = "\t"


class unix_dialect(Dialect):
    """Quotes everywhere."""

    lineterminator, quoting = "\n", QUOTE_ALL


_dialects = {"excel": excel, "excel-tab": excel_tab, "unix": unix_dialect}


def register_dialect(name, dialect=excel, **options):
    _dialects[name] = type(name, (_dialect(dialect, {}),), options)


def list_dialects():
    return list(_dialects)


def _dialect(dialect, options):
    if isinstance(dialect, str):
        if dialect not in _dialects:
            raise Error("unknown dialect")
        dialect = _dialects[dialect]
    dialect = dialect if isinstance(dialect, type) else type(dialect)
    return type("dialect", (dialect,), options) if options else dialect


class reader:
    """An iterator of rows."""

    def __init__(self, lines, dialect=excel, **options):
        self._lines, self.dialect, self.line_num = iter(lines), _dialect(dialect, options), 0

    def __iter__(self):
        return self

    def __next__(self):
        d, row, field, quoted, was_quoted = self.dialect, [], "", False, False
        line = next(self._lines)
        while True:
            self.line_num += 1
            i = 0
            while i < len(line):
                c = line[i]
                i += 1
                if quoted:
                    if c == d.quotechar:
                        if d.doublequote and line[i : i + 1] == c:
                            field, i = field + c, i + 1
                        else:
                            quoted = False
                    else:
                        field += c
                elif c == d.quotechar and d.quoting != QUOTE_NONE and not field:
                    quoted = was_quoted = True
                elif c == d.delimiter:
                    row.append(self._value(field, was_quoted))
                    field, was_quoted = "", False
                elif c in "\r\n":
                    break
                elif not (c == " " and d.skipinitialspace and not field):
                    field += c
            if not quoted:
                break
            line = next(self._lines, None)
            if line is None:
                break
        if row or field or was_quoted:
            row.append(self._value(field, was_quoted))
        return row

    def _value(self, field, was_quoted):
        return float(field) if self.dialect.quoting == QUOTE_NONNUMERIC and not was_quoted else field


class writer:
    """Writes rows."""

    def __init__(self, file, dialect=excel, **options):
        self._file, self.dialect = file, _dialect(dialect, options)

    def _field(self, value):
        d = self.dialect
        text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
        special = any(c in text for c in (d.delimiter, d.quotechar, "\r", "\n"))
        if d.quoting == QUOTE_NONE:
            return text
        if special or d.quoting == QUOTE_ALL or (d.quoting == QUOTE_NONNUMERIC and not isinstance(value, (int, float))):
            return d.quotechar + text.replace(d.quotechar, d.quotechar * 2) + d.quotechar
        return text

    def writerow(self, row):
        fields = [self._field(value) for value in row]
        line = '""' if fields == [""] else self.dialect.delimiter.join(fields)
        return self._file.write(line + self.dialect.lineterminator)

    def writerows(self, rows):
        for row in rows:
            self.writerow(row)


class DictReader:
    """An iterator of rows as dictionaries."""

    def __init__(self, f, fieldnames=None, restkey=None, restval=None, dialect="excel", **options):
        self.reader, self._names, self.restkey, self.restval = reader(f, dialect, **options), fieldnames, restkey, restval

    @property
    def fieldnames(self):
        if self._names is None:
            self._names = next(self.reader, None)
        return self._names

    line_num = property(lambda self: self.reader.line_num)

    def __iter__(self):
        return self

    def __next__(self):
        names = self.fieldnames
        row = next(self.reader)
        while row == []:
            row = next(self.reader)
        found = dict(zip(names, row))
        if len(row) > len(names):
            found[self.restkey] = row[len(names) :]
        for name in names[len(row) :]:
            found[name] = self.restval
        return found


class DictWriter:
    """Writes dictionaries as rows."""

    def __init__(self, f, fieldnames, restval="", extrasaction="raise", dialect="excel", **options):
        self.writer, self.fieldnames, self.restval, self.extrasaction = writer(f, dialect, **options), fieldnames, restval, extrasaction

    def writeheader(self):
        return self.writerow(dict(zip(self.fieldnames, self.fieldnames)))

    def writerow(self, row):
        wrong = row.keys() - self.fieldnames
        if self.extrasaction == "raise" and wrong:
            raise ValueError("dict contains fields not in fieldnames: " + ", ".join(repr(name) for name in wrong))
        return self.writer.writerow(row.get(name, self.restval) for name in self.fieldnames)

    def writerows(self, rows):
        for row in rows:
            self.writerow(row)
