//! `torch._C`: what PyTorch's Python files need of Rust.

pub(super) use module::module_def;

#[pymodule(name = "torch._C")]
mod module {
    use crate::python::current;
    use crate::report::PYTORCH_VERSION;

    /// The release of PyTorch that is imitated.
    #[pyattr]
    fn _pytorch_version(_vm: &rustpython_vm::VirtualMachine) -> &'static str {
        PYTORCH_VERSION
    }

    /// PyTorch's name of the backend that a plain `torch.compile` stands for.
    #[pyfunction]
    fn _default_backend() -> Option<String> {
        current::current().map(|run| run.options.backend.clone())
    }
}
