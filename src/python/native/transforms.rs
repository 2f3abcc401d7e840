//! Native functions of `torch.amp` and `torch.func`.

pub(super) use module::module_def;

#[pymodule(name = "torch._native_transforms")]
mod module {
    use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

    use super::super::tensor::{from_value, items, raise, to_tensor, wrap};
    use crate::autograd::{BackwardOptions, gradient_edge, meta, run_backward};
    use crate::shape::SymInt;
    use crate::tensor::{MemoryFormat, Tensor};
    use crate::transforms::duals;
    use crate::transforms::levels::{self, Kind, Randomness, Wrapped};

    use super::super::tensor::objects::PyDtype;
    use super::super::tensor::to_value;
    use crate::dispatch::{Modes, Value, modes, set_modes};
    use crate::transforms::autocast;

    /// Whether a function is being transformed.
    #[pyfunction]
    fn are_active() -> bool {
        levels::are_active()
    }

    fn tensor(o: &PyObjectRef, vm: &VirtualMachine) -> PyResult<Tensor> {
        to_tensor(o).ok_or_else(|| vm.new_type_error("expected a Tensor"))
    }

    fn size_of(o: &PyObjectRef, vm: &VirtualMachine) -> PyResult<SymInt> {
        match to_value(o, vm) {
            Some(Value::Int(size)) => Ok(size),
            _ => Err(vm.new_type_error("expected a size")),
        }
    }

    /// What a level wraps: of an input of what is captured, that which has its sizes there.
    fn known(o: &PyObjectRef, vm: &VirtualMachine) -> PyResult<Tensor> {
        let t = levels::live(&tensor(o, vm)?);
        if levels::wrapped(&t).is_some() || t.is_fake() {
            return Ok(t);
        }
        crate::dynamo::tracing::touch(&t, false).map_err(|e| raise(e, vm))?;
        Ok(crate::dynamo::tracing::fake_tensor(&t).unwrap_or(t))
    }

    fn level(number: usize, vm: &VirtualMachine) -> PyResult<levels::Level> {
        levels::level(number).ok_or_else(|| vm.new_runtime_error("this level has ended"))
    }

    /// Begins a level of `grad`.
    #[pyfunction]
    fn _grad_increment_nesting() -> usize {
        levels::push(Kind::Grad)
    }

    /// Begins a level of `jvp`.
    #[pyfunction]
    fn _jvp_increment_nesting() -> usize {
        levels::push(Kind::Jvp)
    }

    /// A dual tensor of a primal and a tangent.
    #[pyfunction]
    fn _make_dual(primal: PyObjectRef, tangent: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let (primal, tangent) = (tensor(&primal, vm)?, tensor(&tangent, vm)?);
        wrap(&duals::make_dual(&primal, &tangent).map_err(|e| raise(e, vm))?, vm)
    }

    /// A tensor's primal and its tangent; None where it has none.
    #[pyfunction]
    fn _unpack_dual(t: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let (primal, tangent) = duals::unpack_dual(&tensor(&t, vm)?).map_err(|e| raise(e, vm))?;
        let tangent = tangent.map_or_else(|| Ok(vm.ctx.none()), |t| wrap(&t, vm))?;
        Ok(vm.ctx.new_tuple(vec![wrap(&primal, vm)?, tangent]).into())
    }

    /// Begins a level of `vmap`.
    #[pyfunction]
    fn _vmap_increment_nesting(size: PyObjectRef, randomness: PyObjectRef, vm: &VirtualMachine) -> PyResult<usize> {
        let randomness = match &*randomness.str(vm)?.to_string_lossy() {
            "different" => Randomness::Different,
            "same" => Randomness::Same,
            _ => Randomness::Error,
        };
        Ok(levels::push_vmap(size_of(&size, vm)?, randomness))
    }

    /// Ends the innermost level.
    #[pyfunction]
    fn _decrement_nesting() {
        levels::pop();
    }

    /// The innermost level that calls see: its number, and for `vmap` its size and randomness; None outside of transforms.
    #[pyfunction]
    fn _current_level(vm: &VirtualMachine) -> PyResult {
        let Some(level) = levels::current() else { return Ok(vm.ctx.none()) };
        let (size, randomness) = match level.kind {
            Kind::Grad | Kind::Jvp => (vm.ctx.none(), vm.ctx.none()),
            Kind::Vmap(randomness) => {
                let name = match randomness {
                    Randomness::Error => "error",
                    Randomness::Different => "different",
                    Randomness::Same => "same",
                };
                (from_value(Value::Int(level.size.clone()), vm)?, vm.ctx.new_str(name).into())
            }
        };
        Ok(vm.ctx.new_tuple(vec![vm.ctx.new_int(level.number).into(), size, randomness]).into())
    }

    /// Lets calls see the levels below one; gives how many they saw before.
    #[pyfunction]
    fn _enter_below(number: usize) -> usize {
        levels::set_depth(crate::dispatch::levels::depth_below(number))
    }

    /// Lets calls see so many levels again.
    #[pyfunction]
    fn _set_depth(depth: usize) {
        levels::set_depth(depth);
    }

    /// A tensor of a `grad` level.
    #[pyfunction]
    fn _wrap_for_grad(t: PyObjectRef, number: usize, vm: &VirtualMachine) -> PyResult {
        wrap(&levels::wrap(&known(&t, vm)?, &level(number, vm)?, None), vm)
    }

    /// What a tensor of a level stands for; others are given back.
    #[pyfunction]
    fn _unwrap_for_grad(t: PyObjectRef, number: usize, vm: &VirtualMachine) -> PyResult {
        let t = levels::unwrap(&tensor(&t, vm)?, number);
        wrap(&crate::dynamo::tracing::given_tensor(&t).unwrap_or(t), vm)
    }

    /// A tensor of a `vmap` level, which hides a dimension.
    #[pyfunction]
    fn _add_batch_dim(t: PyObjectRef, dim: usize, number: usize, vm: &VirtualMachine) -> PyResult {
        wrap(&levels::wrap(&known(&t, vm)?, &level(number, vm)?, Some(dim)), vm)
    }

    /// The tensor with its hidden dimension at a place; one without is repeated.
    #[pyfunction]
    fn _remove_batch_dim(t: PyObjectRef, number: usize, size: PyObjectRef, dim: i64, vm: &VirtualMachine) -> PyResult {
        let (t, size) = (tensor(&t, vm)?, size_of(&size, vm)?);
        let found = levels::wrapped(&t).filter(|w| w.number == number);
        let out = levels::below(number, || match found {
            Some(Wrapped { value, batch_dim: Some(at), .. }) => {
                let dim = if dim < 0 { dim + value.dim() as i64 } else { dim };
                if at as i64 == dim { Ok(value) } else { crate::t!("movedim.int", value, at as i64, dim) }
            }
            _ => {
                let one = crate::t!("unsqueeze", &t, dim)?;
                let mut sizes = one.sizes();
                let at = if dim < 0 { dim + sizes.len() as i64 } else { dim };
                sizes[at as usize] = size;
                crate::t!("expand", one, sizes)
            }
        });
        wrap(&out.map_err(|e| raise(e, vm))?, vm)
    }

    /// Makes a tensor of a level a leaf to differentiate.
    #[pyfunction]
    fn _set_tensor_requires_grad(t: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        meta::set_requires_grad(&tensor(&t, vm)?, true).map_err(|e| raise(e, vm))?;
        Ok(t)
    }

    /// Level and hidden dimension of a tensor; None where it has no level.
    #[pyfunction]
    fn _level_of(t: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let Some(w) = to_tensor(&t).map(|t| levels::live(&t)).and_then(|t| levels::wrapped(&t)) else { return Ok(vm.ctx.none()) };
        let dim = w.batch_dim.map_or_else(|| vm.ctx.none(), |d| vm.ctx.new_int(d).into());
        Ok(vm.ctx.new_tuple(vec![vm.ctx.new_int(w.number).into(), dim, wrap(&w.value, vm)?]).into())
    }

    /// The gradients of outputs with respect to inputs, with history; None where there is no path.
    #[pyfunction]
    fn _autograd_grad(outputs: PyObjectRef, inputs: PyObjectRef, grads: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let all = |o: &PyObjectRef| items(o).unwrap_or_default();
        let error = |e| raise(e, vm);
        let weights = all(&grads);
        let mut roots = Vec::new();
        for (i, output) in all(&outputs).iter().enumerate() {
            let output = tensor(output, vm)?;
            let Some(edge) = gradient_edge(&output).map_err(error)? else { continue };
            let weight = match weights.get(i).and_then(|w| to_tensor(w)) {
                Some(weight) => weight,
                None => crate::t!("ones_like", &output; pin_memory = false, memory_format = MemoryFormat::Preserve).map_err(error)?,
            };
            roots.push((edge, weight));
        }
        let inputs = all(&inputs).iter().map(|o| tensor(o, vm)).collect::<PyResult<Vec<_>>>()?;
        let mut edges = Vec::new();
        for input in &inputs {
            let missing = || vm.new_runtime_error("One of the differentiated Tensors does not require grad");
            edges.push(gradient_edge(input).map_err(error)?.ok_or_else(missing)?);
        }
        let found = if roots.is_empty() {
            vec![None; edges.len()]
        } else {
            run_backward(roots, Some(&edges), BackwardOptions { retain_graph: true, create_graph: true, more_rows: false })
                .map_err(error)?
        };
        let found = found.iter().map(|g| g.as_ref().map_or_else(|| Ok(vm.ctx.none()), |g| wrap(g, vm))).collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_tuple(found).into())
    }

    #[pyfunction]
    fn is_autocast_cpu_enabled() -> bool {
        modes().autocast.is_some()
    }

    #[pyfunction]
    fn _autocast_dtype(vm: &VirtualMachine) -> PyResult {
        PyDtype::object(autocast::short_dtype(), vm)
    }

    /// Sets what `torch.autocast` chooses for the CPU: whether it is on, the short dtype, and whether casts are kept.
    #[pyfunction]
    fn _set_autocast(enabled: bool, dtype: PyObjectRef, cache: bool, vm: &VirtualMachine) -> PyResult<()> {
        let Some(Value::Dtype(dtype)) = to_value(&dtype, vm) else { return Err(vm.new_type_error("autocast takes a torch.dtype")) };
        autocast::set_short_dtype(dtype);
        autocast::set_cache_enabled(cache);
        set_modes(Modes { autocast: enabled.then_some(dtype), ..modes() });
        Ok(())
    }

    #[pyfunction]
    fn is_autocast_cache_enabled() -> bool {
        autocast::cache_enabled()
    }

    #[pyfunction]
    fn autocast_increment_nesting() -> i64 {
        autocast::nest(1)
    }

    #[pyfunction]
    fn autocast_decrement_nesting() -> i64 {
        autocast::nest(-1)
    }

    #[pyfunction]
    fn clear_autocast_cache() {
        autocast::clear_cache();
    }

    /// Tells what is being captured that a block begins.
    #[pyfunction]
    fn _record_autocast_enter(dtype: PyObjectRef, enabled: bool, is_said: bool, vm: &VirtualMachine) {
        if let Some(Value::Dtype(dtype)) = to_value(&dtype, vm) {
            crate::dynamo::tracing::record_autocast(Some((dtype, enabled, is_said)));
        }
    }

    /// Tells what is being captured that a block ends.
    #[pyfunction]
    fn _record_autocast_exit() {
        crate::dynamo::tracing::record_autocast(None);
    }
}
