"""Times at the ends of their range."""
import time

for seconds in (0, -1, 86399.9, -86400.5, 951782400, 68169600, -62135596800, -62135596801, 253402300800, 1e12, -1e11, 2**55, -(2**55),
                67768036191676799, 67768036191676800, -67768040609740800, -67768040609740801, 2**62, 2**63, 1e18, 1e300,
                float("inf"), float("-inf"), float("nan")):
    for call in (time.gmtime,):
        try:
            print(seconds, tuple(call(seconds)))
        except (OSError, ValueError, OverflowError) as error:
            print(seconds, type(error).__name__, error)
for days in range(-800000, 800000, 9973):
    t = time.gmtime(days * 86400)
    print(days, t.tm_year, t.tm_yday, t.tm_mon, t.tm_mday, t.tm_wday)
