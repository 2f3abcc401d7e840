//! Exceptions that nothing in a function catches.

use super::unsupported::{FUNDAMENTAL, Unsupported};

const USER_ERROR: &str = "Your code may result in an error when running in eager. Please double check that your code doesn't contain a similar error when actually running eager/uncompiled. You can do this by removing the `torch.compile` call, or by using `torch.compiler.set_stance(\"force_eager\")`. ";

impl Unsupported {
    /// An exception of the script's, where nothing of the script's catches it: the frame is skipped.
    pub fn exception() -> Self {
        Self::of_exception(String::new(), &[])
    }

    /// The same, where a graph has to hold the whole function; `shown` is the exception's `repr`.
    pub fn observed_exception(shown: &str) -> Self {
        Self::of_exception(
            format!("raised exception {shown}"),
            &[
                USER_ERROR,
                "It may be possible to write Dynamo tracing rules for this code. Please report an issue to PyTorch if you encounter this graph break often and it is causing performance issues.",
            ],
        )
    }

    fn of_exception(context: String, hints: &[&str]) -> Self {
        let mut reason = Self::new(
            88,
            "Observed exception",
            "Dynamo found no exception handler at the top-level compiled function when encountering an exception. Exception will propagate outside the compiled region.",
            context,
            hints,
        );
        reason.ends_function = true;
        reason
    }

    /// A call that does not fit its function; `called` is how the graph would call it.
    pub fn type_error(called: &str, said: &str) -> Self {
        let title = "TypeError when making fake tensor call";
        Self::new(112, title, "", format!("TypeError {called}: {said}"), &[USER_ERROR])
    }

    /// A call that fails under fake tensors, of which it was said why.
    pub fn runtime_error(said: &str) -> Self {
        Self::new(4315, "RuntimeError when making fake tensor call", said, "", &[USER_ERROR])
    }

    /// `assert` of what is false, where a graph has to hold the whole function.
    pub fn failed_assertion() -> Self {
        Self::new(
            34,
            "Data-dependent assertion failed (cannot compile partial graph)",
            "Dynamo has determined when encountering a data-dependent assert failure that it should not compile the partial graph.",
            "value: ConstantVariable(bool: False)",
            &[
                FUNDAMENTAL,
                "Use `torch._assert()` to raise a hard AssertionError when the check fails. This error will propagate back the user code that called the compiled function (i.e. Dynamo will not trace any exception handling).",
                "Remove the assert statement.",
                "Move the assert statement outside of any context managers in order to graph break with partial graph compilation (if fullgraph=False).",
            ],
        )
    }
}
