"""`functools.lru_cache` as Dynamo traces it: a call goes to the function itself, and nothing is looked up or kept."""

import functools

import _playground

_plain = functools._lru_cache_wrapper


def wrapper(user_function, maxsize, typed, cache_info):
    cached = _plain(user_function, maxsize, typed, cache_info)

    def call(*args, **kwds):
        return (user_function if _playground.is_capturing() else cached)(*args, **kwds)

    call.cache_info, call.cache_clear = cached.cache_info, cached.cache_clear
    return call
