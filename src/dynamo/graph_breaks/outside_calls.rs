//! What is said of calls of Python's own library and of numpy, which no graph can hold.

use super::unsupported::{SKIPPED_BUILTIN, Unsupported};

impl Unsupported {
    /// A clock is read.
    pub fn clock(function: &str) -> Self {
        Self::new(
            9193,
            "Call to a time function",
            format!(
                "Dynamo graph breaks on `time.{function}()` so that the clock read occurs at the correct point relative to compiled operations."
            ),
            format!("Called `time.{function}()` inside a compiled region"),
            &[
                &format!("Move the `time.{function}()` call outside the compiled function if the graph break is undesirable."),
                "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch if you encounter this graph break often and it is causing performance issues.",
            ],
        )
    }

    /// `warnings.warn`, which Python has in C.
    pub fn warning() -> Self {
        Self::new(
            SKIPPED_BUILTIN,
            "Attempted to call function marked as skipped",
            "Dynamo does not know how to trace the Python builtin `_warnings.warn`.",
            "module: _warnings, qualname: warn, skip reason: cannot determine source file for _warnings (likely a C extension or builtin)",
            &[
                "If you are attempting to call a logging function (e.g. `_warnings.warn`), you can try adding it to `torch._dynamo.config.reorderable_logging_functions`.",
                "Please file an issue on GitHub so the PyTorch team can add support for it. ",
            ],
        )
    }

    /// A method of a logger.
    pub fn logging(logger: &str, method: &str, args: &[String]) -> Self {
        Self::new(
            291,
            "logging.Logger method not supported for non-export cases",
            "For non-export cases, logging.Logger methods are only supported if the logger has a source and the method is registered as reorderable.",
            format!("method: {logger}.{method}, args: [{}], kwargs: {{}}", args.join(", ")),
            &[
                "If you do not need this logging side effect, add the exact method being called to `torch._dynamo.config.ignore_logging_functions`. Dynamo will skip the call and return `None`.",
                &format!(
                    "For example, for `logger.{method}(...)`, use `torch._dynamo.config.ignore_logging_functions.add(logger.{method})`. If `{method}` is defined on the logger class, add the class method `logging.Logger.{method}` to ignore this method for all instances of that class."
                ),
                &format!(
                    "Dynamo does not trace into logging.Logger method bodies, so only the method you call directly (`{method}`) is checked against the ignore set. Ignoring a method that `{method}` calls internally has no effect."
                ),
                &format!(
                    "If you need the log side effect to run, then you can try one of (1) create the logger outside the compiled region and add the method to `torch._dynamo.config.reorderable_logging_functions` (e.g. `torch._dynamo.config.reorderable_logging_functions.add(logger.{method})`) so that it runs after the compiled region, as long as it is called without kwargs and its arguments are tensors, constants, or string formatters, (2) `torch._higher_order_ops.print(...)`, (3) wrap the logging call in a custom op (marked as mutable), or (4) preserve the logging contents and move the logging call outside the compiled region."
                ),
            ],
        )
    }

    /// A call of numpy in a compiled function that nothing stands for in a graph.
    pub fn numpy(title: &str) -> Self {
        Self::new(
            0,
            title,
            "numpy is traced as functions of tensors. There is none for this call, or torch._dynamo.config.trace_numpy is False.",
            "",
            &["Write the torch function of the same name instead."],
        )
    }
}
