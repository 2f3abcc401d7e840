//! Importing what the playground does not have: the end of `sys.meta_path`, which says so instead of a bare
//! "No module named ...". A script that imports a well-known package gets a module that says so when it is used
//! (`stdlib/_absent_package.py`).

use rustpython_vm::{
    AsObject, Py, PyObjectRef, PyPayload, PyResult, VirtualMachine,
    builtins::{PyBaseExceptionRef, PyStrRef},
    function::{FuncArgs, KwArgs},
};

/// Packages that scripts often import beside PyTorch.
const PACKAGES: &str = "\
    PIL accelerate bitsandbytes cupy cv2 datasets deepspeed gym gymnasium h5py huggingface_hub hydra jax \
    keras lightning matplotlib networkx numba omegaconf onnx pandas peft plotly psutil pytest pytorch_lightning \
    requests safetensors scipy seaborn skimage sklearn tabulate tensorboard tensorboardX tensorflow timm tokenizers \
    torchaudio torchmetrics torchtext torchvision transformers triton wandb xformers yaml";

/// Modules of PyTorch that scripts import and that are not here; what lies in them is not, either.
const PARTS: &str = "\
    torch.accelerator torch.ao torch.contrib torch.distributed.algorithms torch.distributed.checkpoint torch.distributed.device_mesh \
    torch.distributed.elastic torch.distributed.fsdp torch.distributed.nn torch.distributed.optim torch.distributed.pipelining \
    torch.distributed.rpc torch.distributed.tensor torch.export torch.futures torch.monitor torch.mtia \
    torch.multiprocessing torch.nested torch.nn.attention.bias torch.nn.intrinsic torch.nn.qat \
    torch.nn.quantizable torch.nn.quantized torch.onnx torch.package torch.quantization torch.quasirandom \
    torch.storage torch.utils._python_dispatch torch.utils.benchmark torch.utils.bottleneck torch.utils.collect_env \
    torch.utils.cpp_extension torch.utils.dlpack torch.utils.flop_counter torch.utils.mobile_optimizer torch.utils.tensorboard";

/// A finder that finds nothing and explains it.
#[pyclass(module = false, name = "AbsentPackages")]
#[derive(Debug, PyPayload)]
pub(super) struct AbsentPackages;

#[pyclass]
impl AbsentPackages {
    #[pymethod]
    fn find_spec(_zelf: &Py<Self>, name: PyStrRef, _rest: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let text = name.to_string_lossy();
        let top = text.split('.').next().unwrap_or_default();
        let reason = if PACKAGES.split_ascii_whitespace().any(|package| package == top) {
            format!("No module named '{text}' (the package '{top}' is not available in the playground)")
        } else if top == "numpy" {
            format!("No module named '{text}' (this part of numpy is not available in the playground)")
        } else if is_standard(top, vm)? {
            format!("No module named '{text}' (this part of the standard library is not available in the playground)")
        } else if top == "torch" || top == "functorch" {
            format!("No module named '{text}' (this part of PyTorch is not available in the playground; operators.html lists what is)")
        } else {
            return Ok(vm.ctx.none());
        };
        if !matches!(top, "functorch" | "numpy") && (top != "torch" || is_absent_part(&text)) {
            let package = vm.import("_absent_package", 0)?;
            let spec = vm.call_method(&package, "spec_of", (name.clone(), reason.clone()))?;
            if !vm.is_none(&spec) {
                return Ok(spec);
            }
        }
        Err(not_found(reason, name, vm)?)
    }
}

/// A ModuleNotFoundError with the name of the module.
pub(super) fn not_found(message: String, name: PyStrRef, vm: &VirtualMachine) -> PyResult<PyBaseExceptionRef> {
    let class = vm.ctx.exceptions.module_not_found_error;
    let name = KwArgs::new([("name".to_owned().into(), PyObjectRef::from(name))].into_iter().collect());
    let exception = class.as_object().call(FuncArgs::new(vec![vm.ctx.new_str(message).into()], name), vm)?;
    exception.downcast().map_err(|_| vm.new_type_error("ModuleNotFoundError is no exception"))
}

/// Whether PyTorch has a module of this name that is not here.
fn is_absent_part(name: &str) -> bool {
    PARTS.split_ascii_whitespace().any(|part| name.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Whether Python's standard library has a public module of this name. The library itself asks for private ones and does
/// without them.
fn is_standard(name: &str, vm: &VirtualMachine) -> PyResult<bool> {
    if name.starts_with('_') {
        return Ok(false);
    }
    let names = vm.sys_module.get_attr("stdlib_module_names", vm)?;
    vm.call_method(&names, "__contains__", (name,))?.try_to_bool(vm)
}
