"""Threads that end by themselves, what they wait for, and what each has of its own."""
import contextvars
import queue
import threading


def t(name, f):
    try:
        r = f()
    except BaseException as e:
        r = type(e).__name__ + ": " + str(e)[:200]
    print(name, "|", r, flush=True)
L = threading.Lock()
t("lock timeout", lambda: (L.acquire(), L.acquire(timeout=0.01), L.acquire(False), L.locked(), L.release(), L.locked()))
t("release", lambda: L.release())
t("bad", lambda: L.acquire(False, 1))
t("bad2", lambda: L.acquire(True, -2))
R = threading.RLock()
t("rlock", lambda: (R.acquire(), R.acquire(), R.release(), R.release()))
t("rlock rel", lambda: R.release())
t("event", lambda: threading.Event().wait(0.01))
e = threading.Event(); e.set()
t("event set", lambda: e.wait())
def cond():
    c = threading.Condition()
    with c: return c.wait(0.01)
t("cond", cond)
t("sem", lambda: (s := threading.Semaphore(1), s.acquire(), s.acquire(timeout=0.01))[1:])
t("main", lambda: threading.current_thread().name)
names = []
th = [threading.Thread(target=lambda: names.append(threading.current_thread().name)) for _ in range(3)]
for x in th: x.start()
for x in th: x.join()
t("names", lambda: names)
t("main after", lambda: (threading.current_thread().name, threading.current_thread() is threading.main_thread(), threading.active_count(), threading.enumerate()[0].name))
t("alive", lambda: [x.is_alive() for x in th])
t("again", lambda: th[0].start())
loc = threading.local(); loc.x = 1
seen = []
def look():
    seen.append(getattr(loc, "x", None)); loc.x = 2
x = threading.Thread(target=look); x.start(); x.join()
t("local", lambda: (seen, loc.x, loc.__dict__))
class LL(threading.local):
    def __init__(self, a): self.a = [a]
ll = LL(5)
def look2():
    ll.a.append(6); seen.append(list(ll.a))
x = threading.Thread(target=look2); x.start(); x.join()
t("local class", lambda: (seen, ll.a))
def del_():
    del loc.x
    return hasattr(loc, "x")
t("del", del_)
q = queue.Queue()
def prod():
    for i in range(3): q.put(i)
x = threading.Thread(target=prod, daemon=True, name="producer"); x.start()
t("queue", lambda: [q.get() for _ in range(3)])
t("queue empty", lambda: q.get(timeout=0.01))
t("self join", lambda: threading.current_thread().join())
b = threading.Barrier(1)
t("barrier", lambda: b.wait())
res = {}
def ex():
    try: 1/0
    except ZeroDivisionError as e: res["e"] = str(e)
x = threading.Thread(target=ex); x.start(); x.join()
t("ex", lambda: res)
lk = threading.Lock(); total = 0
def add():
    global total
    for _ in range(100):
        with lk: total += 1
xs = [threading.Thread(target=add) for _ in range(4)]
[x.start() for x in xs]; [x.join() for x in xs]
t("total", lambda: total)
v = contextvars.ContextVar("v", default=0)
v.set(5)
x = threading.Thread(target=lambda: seen.append(v.get())); x.start(); x.join()
t("ctx", lambda: seen[-1])


def joined():
    main = threading.main_thread()
    main.join(timeout=0.01)
    return main.is_alive()


x = threading.Thread(target=lambda: t("join of the starter", joined))
x.start()
x.join()
x = threading.Thread(target=lambda: (R.acquire(), seen.append(R.acquire(False)), R.release(), R.release()))
x.start()
x.join()
t("rlock in a thread", lambda: (seen[-1], R.acquire(False)))
x = threading.Thread(target=lambda: seen.append(R.acquire(timeout=0.01)))
x.start()
x.join()
t("rlock of another", lambda: seen[-1])
t("idents", lambda: (threading.get_ident() == threading.main_thread().ident, x.ident != threading.get_ident()))
