"""Clocks and calendar. There is no time zone but UTC."""

from _time import (
    monotonic, monotonic_ns, perf_counter, perf_counter_ns, process_time, process_time_ns, sleep, thread_time, thread_time_ns,
    time, time_ns,
)

timezone = altzone = daylight = 0
tzname = ("UTC", "UTC")

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)
_FIELDS = ("tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday", "tm_isdst")
_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


class struct_time(tuple):
    """A time, field by field."""

    n_fields = 11
    n_sequence_fields = 9
    n_unnamed_fields = 0
    tm_zone = "UTC"
    tm_gmtoff = 0

    def __new__(cls, iterable):
        fields = tuple(iterable)[:9]
        if len(fields) != 9:
            raise TypeError(f"time.struct_time() takes an at least 9-sequence ({len(fields)}-sequence given)")
        return super().__new__(cls, fields)

    def __repr__(self):
        return "time.struct_time(" + ", ".join(f"{name}={value!r}" for name, value in zip(_FIELDS, self)) + ")"

    def __reduce__(self):
        return struct_time, (tuple(self),)


for _index, _name in enumerate(_FIELDS):
    setattr(struct_time, _name, property(lambda self, index=_index: self[index]))


def _is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_before_year(year):
    year -= 1
    return year * 365 + year // 4 - year // 100 + year // 400


def _day_of_year(year, month, day):
    return _BEFORE_MONTH[month - 1] + (month > 2 and _is_leap(year)) + day


_EPOCH = _days_before_year(1970)


def gmtime(seconds=None):
    seconds = time() if seconds is None else seconds
    if seconds != seconds:
        raise ValueError("Invalid value NaN (not a number)")
    if not -(2**63) <= seconds < 2**63:
        raise OverflowError("timestamp out of range for platform time_t")
    days, rest = divmod(int(seconds // 1), 86400)
    # The mean year of the calendar gives the year, or the one before or after it.
    year = 1970 + days * 400 // 146097 - 1
    while _days_before_year(year + 1) - _EPOCH <= days:
        year += 1
    if not -(2**31) <= year - 1900 < 2**31:
        raise OSError(75, "Value too large for defined data type")
    yday = days - (_days_before_year(year) - _EPOCH) + 1
    month = 12
    while _day_of_year(year, month, 1) > yday:
        month -= 1
    day = yday - _day_of_year(year, month, 1) + 1
    return struct_time((year, month, day, rest // 3600, rest // 60 % 60, rest % 60, (days + 3) % 7, yday, 0))


localtime = gmtime


def mktime(t):
    days = _days_before_year(t[0]) - _EPOCH + _day_of_year(t[0], t[1], t[2]) - 1
    return float(days * 86400 + t[3] * 3600 + t[4] * 60 + t[5])


def asctime(t=None):
    t = gmtime() if t is None else t
    return f"{_DAYS[t[6]][:3]} {_MONTHS[t[1] - 1][:3]} {t[2]:2d} {t[3]:02d}:{t[4]:02d}:{t[5]:02d} {t[0]}"


def ctime(seconds=None):
    return asctime(gmtime(seconds))


def _directive(code, t):
    year, month, day, hour, minute, second, weekday, yday = t[:8]
    match code:
        case "a": return _DAYS[weekday][:3]
        case "A": return _DAYS[weekday]
        case "b" | "h": return _MONTHS[month - 1][:3]
        case "B": return _MONTHS[month - 1]
        case "c": return asctime(t)
        case "C": return f"{year // 100:02d}"
        case "d": return f"{day:02d}"
        case "D" | "x": return f"{month:02d}/{day:02d}/{year % 100:02d}"
        case "e": return f"{day:2d}"
        case "F": return f"{year}-{month:02d}-{day:02d}"
        case "G" | "V" | "g":
            week = (yday - 1 - weekday + 10) // 7
            iso_year = year
            weeks = lambda y: 53 if (_days_before_year(y) % 7 == 3 or (_is_leap(y) and _days_before_year(y) % 7 == 2)) else 52
            if week < 1:
                iso_year, week = year - 1, weeks(year - 1)
            elif week > weeks(year):
                iso_year, week = year + 1, 1
            return f"{week:02d}" if code == "V" else str(iso_year) if code == "G" else f"{iso_year % 100:02d}"
        case "H": return f"{hour:02d}"
        case "I": return f"{(hour + 11) % 12 + 1:02d}"
        case "j": return f"{yday:03d}"
        case "m": return f"{month:02d}"
        case "M": return f"{minute:02d}"
        case "n": return "\n"
        case "p": return "AM" if hour < 12 else "PM"
        case "r": return f"{(hour + 11) % 12 + 1:02d}:{minute:02d}:{second:02d} {'AM' if hour < 12 else 'PM'}"
        case "R": return f"{hour:02d}:{minute:02d}"
        case "s": return str(int(mktime(t)))
        case "S": return f"{second:02d}"
        case "t": return "\t"
        case "T" | "X": return f"{hour:02d}:{minute:02d}:{second:02d}"
        case "u": return str(weekday + 1)
        case "U": return f"{(yday + 6 - (weekday + 1) % 7) // 7:02d}"
        case "w": return str((weekday + 1) % 7)
        case "W": return f"{(yday + 6 - weekday) // 7:02d}"
        case "y": return f"{year % 100:02d}"
        case "Y": return str(year)
        case "z": return "+0000"
        case "Z": return "UTC"
        case "%": return "%"
    return "%" + code


def strftime(format, t=None):
    t = gmtime() if t is None else t
    pieces = format.split("%")
    out = [pieces[0]]
    index = 1
    while index < len(pieces):
        piece = pieces[index]
        if piece:
            out.append(_directive(piece[0], t) + piece[1:])
        else:
            out.append("%")
            index += 1
            if index < len(pieces):
                out.append(pieces[index])
        index += 1
    return "".join(out)


def strptime(data_string, format="%a %b %d %H:%M:%S %Y"):
    import _strptime

    return _strptime._strptime_time(data_string, format)


def get_clock_info(name):
    from types import SimpleNamespace

    return SimpleNamespace(implementation="performance.now()", monotonic=name != "time", adjustable=name == "time", resolution=1e-6)
