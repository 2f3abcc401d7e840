//! `_sha2`: what `random.seed` of a text needs.

pub(super) use module::module_def;

#[pymodule(name = "_sha2")]
mod module {
    use rustpython_vm::{Py, PyPayload, PyRef, VirtualMachine, function::ArgBytesLike};
    use sha2::{Digest, Sha256, Sha512};

    /// A hash of some bytes.
    #[pyattr]
    #[pyclass(module = "_sha2", name = "sha")]
    #[derive(Debug, PyPayload)]
    struct Hash {
        digest: Vec<u8>,
    }

    #[pyclass]
    impl Hash {
        #[pymethod]
        fn digest(zelf: &Py<Self>) -> Vec<u8> {
            zelf.digest.clone()
        }

        #[pymethod]
        fn hexdigest(zelf: &Py<Self>) -> String {
            zelf.digest.iter().map(|byte| format!("{byte:02x}")).collect()
        }
    }

    fn hash<D: Digest>(data: rustpython_vm::function::OptionalArg<ArgBytesLike>, vm: &VirtualMachine) -> PyRef<Hash> {
        let digest = match data.into_option() {
            Some(data) => data.with_ref(|bytes| D::digest(bytes).to_vec()),
            None => D::digest(b"").to_vec(),
        };
        Hash { digest }.into_ref(&vm.ctx)
    }

    #[pyfunction]
    fn sha512(data: rustpython_vm::function::OptionalArg<ArgBytesLike>, vm: &VirtualMachine) -> PyRef<Hash> {
        hash::<Sha512>(data, vm)
    }

    #[pyfunction]
    fn sha256(data: rustpython_vm::function::OptionalArg<ArgBytesLike>, vm: &VirtualMachine) -> PyRef<Hash> {
        hash::<Sha256>(data, vm)
    }
}
