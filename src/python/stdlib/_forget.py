"""Undoes what a script did to modules of the library, which stay imported from run to run."""

import sys


def forget():
    for name, undo in _UNDO.items():
        module = sys.modules.get(name)
        if module is not None:
            undo(module)


def _unwatch(owner, *names):
    """Takes away what torch.compile put around functions to see messages: its own module is forgotten."""
    for name in names:
        function = getattr(owner, name)
        if hasattr(function, "_ends_graphs"):
            setattr(owner, name, function.__wrapped__)


def _os(os):
    os.environ.clear()
    os.environ.update(os._ENVIRON)


def _random(random):
    random.seed()


def _logging(logging):
    _unwatch(logging.Logger, "debug", "info", "warning", "error", "exception", "critical", "log")
    root = logging.root
    for logger in [root, *root.manager.loggerDict.values()]:
        for handler in list(getattr(logger, "handlers", ())):
            logger.removeHandler(handler)
            handler.close()
        if hasattr(logger, "filters"):
            logger.filters.clear()
    root.manager.loggerDict.clear()
    root.manager.disable = 0
    root.setLevel(logging.WARNING)
    logging.captureWarnings(False)
    logging.raiseExceptions = True


def _warnings(warnings):
    import _warnings

    _unwatch(warnings, "warn")
    warnings.resetwarnings()
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
    warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
    _warnings._onceregistry.clear()


def _decimal(decimal):
    decimal.setcontext(decimal.DefaultContext.copy())


def _contextvars(contextvars):
    contextvars._current = contextvars.Context()


_UNDO = {
    "_files": lambda files: files.forget(),
    "os": _os,
    "random": _random,
    "logging": _logging,
    "warnings": _warnings,
    "decimal": _decimal,
    "_contextvars": _contextvars,
    "_absent_package": lambda module: module.forget(),
}
