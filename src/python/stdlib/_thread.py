"""Threads, one at a time: a thread runs to its end where it is started. Whoever waits for what only another thread could give is told so."""

error = RuntimeError
TIMEOUT_MAX = 9223372036.0

_MAIN = 1
# The threads that are under way, each started by the one before it. Assigned anew, never changed: a run that is ended in a thread leaves
# no trace then.
_running = (_MAIN,)
_started = 0


def _cannot_wait(what):
    return RuntimeError(
        f"can't wait for {what}: in the playground a thread runs to its end when it is started, so no other thread can give it up meanwhile"
    )


def _checked(blocking, timeout):
    """The seconds to wait: none for as long as it takes."""
    if not blocking and timeout != -1:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if timeout < 0 and timeout != -1:
        raise ValueError("timeout value must be positive")
    if timeout > TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")
    return 0 if not blocking else None if timeout == -1 else timeout


def _wait(seconds, what):
    """Waits for what does not come."""
    if seconds is None:
        raise _cannot_wait(what)
    if seconds:
        import time

        time.sleep(seconds)
    return False


class LockType:
    """A lock that whoever wants may release."""

    def __new__(cls):
        self = object.__new__(cls)
        self._is_locked = False
        return self

    def acquire(self, blocking=True, timeout=-1):
        seconds = _checked(blocking, timeout)
        if self._is_locked:
            return _wait(seconds, "a lock that is held")
        self._is_locked = True
        return True

    def release(self):
        if not self._is_locked:
            raise RuntimeError("release unlocked lock")
        self._is_locked = False

    def locked(self):
        return self._is_locked

    def __enter__(self):
        return self.acquire()

    def __exit__(self, kind, value, traceback):
        self.release()

    def _at_fork_reinit(self):
        self._is_locked = False

    def __repr__(self):
        return f"<{'locked' if self._is_locked else 'unlocked'} _thread.lock object at {id(self):#x}>"


LockType.__name__ = LockType.__qualname__ = "lock"
lock = LockType


class RLock:
    """A lock that its thread may take again."""

    def __new__(cls):
        self = object.__new__(cls)
        self._owner, self._count = 0, 0
        return self

    def acquire(self, blocking=True, timeout=-1):
        seconds = _checked(blocking, timeout)
        if self._count and self._owner != get_ident():
            return _wait(seconds, "a lock that another thread holds")
        self._owner, self._count = get_ident(), self._count + 1
        return True

    def release(self):
        if not self._is_owned():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1

    def locked(self):
        return self._count > 0

    def __enter__(self):
        return self.acquire()

    def __exit__(self, kind, value, traceback):
        self.release()

    def _is_owned(self):
        return self._count > 0 and self._owner == get_ident()

    def _recursion_count(self):
        return self._count if self._is_owned() else 0

    def _release_save(self):
        if not self._count:
            raise RuntimeError("cannot release un-acquired lock")
        state = self._count, self._owner
        self._count = 0
        return state

    def _acquire_restore(self, state):
        self._count, self._owner = state

    def _at_fork_reinit(self):
        self._count = 0

    def __repr__(self):
        state = "locked" if self._count else "unlocked"
        owner = self._owner if self._count else 0
        return f"<{state} _thread.RLock object owner={owner} count={self._count} at {id(self):#x}>"


class _local:
    """Attributes that each thread has of its own."""

    def __new__(cls, /, *args, **kwargs):
        if (args or kwargs) and cls.__init__ is object.__init__:
            raise TypeError("Initialization arguments are not supported")
        self = object.__new__(cls)
        object.__setattr__(self, "_given", (args, kwargs))
        object.__setattr__(self, "_threads", {get_ident(): {}})
        return self

    def __getattribute__(self, name):
        attributes = _own(self)
        if name == "__dict__":
            return attributes
        if name in attributes and not hasattr(getattr(type(self), name, None), "__set__"):
            return attributes[name]
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        if name == "__dict__":
            raise AttributeError(f"{type(self).__name__!r} object attribute '__dict__' is read-only")
        attributes = _own(self)
        if hasattr(getattr(type(self), name, None), "__set__"):
            object.__setattr__(self, name, value)
        else:
            attributes[name] = value

    def __delattr__(self, name):
        if name == "__dict__":
            raise AttributeError(f"{type(self).__name__!r} object attribute '__dict__' is read-only")
        attributes = _own(self)
        if name not in attributes:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        del attributes[name]


def _own(local):
    """The attributes of this thread; a thread's first use initializes them."""
    threads = object.__getattribute__(local, "_threads")
    attributes = threads.get(get_ident())
    if attributes is None:
        attributes = threads[get_ident()] = {}
        args, kwargs = object.__getattribute__(local, "_given")
        type(local).__init__(local, *args, **kwargs)
    return attributes


class _ThreadHandle:
    """A thread that has run, or has yet to."""

    def __init__(self, ident=0):
        self.ident = ident
        self._is_done = False

    def is_done(self):
        return self._is_done

    def _set_done(self):
        self._is_done = True

    def join(self, timeout=None):
        if not self._is_done and self.ident in _running:
            if self.ident == get_ident():
                raise RuntimeError("Cannot join current thread")
            _wait(None if timeout is None or timeout < 0 else timeout, "a thread that started this one")

    def __repr__(self):
        return f"<_ThreadHandle object: ident={self.ident}>"


def _make_thread_handle(ident):
    return _ThreadHandle(ident)


def _run(ident, function, args, kwargs):
    import sys

    global _running
    before, _running = _running, (*_running, ident)
    try:
        torch = sys.modules.get("torch")
        if torch is None:
            function(*args, **kwargs)
        else:
            # Each thread has modes of its own.
            with torch.inference_mode(False), torch.enable_grad():
                function(*args, **kwargs)
    except SystemExit:
        pass
    except BaseException:
        import traceback

        print(f"Exception ignored in thread started by: {function!r}", file=sys.stderr)
        traceback.print_exc()
    finally:
        _running = before


def _next():
    global _started
    _started += 1
    return _MAIN + _started


def start_new_thread(function, args, kwargs={}, /):
    if not callable(function):
        raise TypeError("first arg must be callable")
    if not isinstance(args, tuple):
        raise TypeError("2nd arg must be a tuple")
    if not isinstance(kwargs, dict):
        raise TypeError("optional 3rd arg must be a dictionary")
    ident = _next()
    _run(ident, function, args, kwargs)
    return ident


start_new = start_new_thread


def start_joinable_thread(function, handle=None, daemon=True):
    handle = _ThreadHandle() if handle is None else handle
    handle.ident = _next()
    _run(handle.ident, function, (), {})
    handle._set_done()
    return handle


def daemon_threads_allowed():
    return True


def get_ident():
    return _running[-1]


get_native_id = get_ident


def _get_main_thread_ident():
    return _MAIN


def _is_main_interpreter():
    return True


def allocate_lock():
    return LockType()


allocate = allocate_lock


def stack_size(size=0, /):
    return 0


def _set_sentinel():
    return LockType()


def _count():
    return len(_running) - 1


def _shutdown():
    pass


def exit():
    raise SystemExit


exit_thread = exit


def interrupt_main(signum=2, /):
    raise KeyboardInterrupt
