"""Context managers that are decorators too, for functions and for generator functions (a generator leaves the context
whenever it is suspended)."""

import functools

_GENERATOR = 0x20  # inspect.CO_GENERATOR


def context_decorator(ctx, func):
    """Wraps `func` so that each call runs inside `ctx` (a context manager that can be entered often, or a factory of one)."""
    factory = ctx if callable(ctx) else lambda: ctx
    if isinstance(func, type):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the "
            "context manager applied; additionally, decorating a class at definition-site will prevent use of the identifier "
            "as a conventional type.  To specify which methods to decorate, decorate each of them individually."
        )
    code = getattr(func, "__code__", None)
    if code is not None and code.co_flags & _GENERATOR:
        return _wrap_generator(factory, func)

    @functools.wraps(func)
    def decorate_context(*args, **kwargs):
        with factory():
            return func(*args, **kwargs)

    return decorate_context


def _wrap_generator(factory, func):
    @functools.wraps(func)
    def generator_context(*args, **kwargs):
        generator = func(*args, **kwargs)
        resume, value = generator.send, None
        while True:
            try:
                with factory():
                    response = resume(value)
            except StopIteration as end:
                return end.value
            try:
                value = yield response
                resume = generator.send
            except GeneratorExit:
                with factory():
                    generator.close()
                raise
            except BaseException as error:
                resume, value = generator.throw, error

    return generator_context


class _DecoratorContextManager:
    """A context manager that decorates functions."""

    def __call__(self, orig_func):
        return context_decorator(self.clone, orig_func)

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError

    def clone(self):
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that takes no arguments and so decorates with and without parentheses."""

    def __new__(cls, orig_func=None):
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
