//! `torch._inductor.config.freezing`: which inputs of a captured graph become constants, and what is logged of the frozen graph.

use std::rc::Rc;

use rustpython_vm::builtins::PyDict;
use rustpython_vm::vm::thread::with_current_vm;
use rustpython_vm::{AsObject, PyObjectRef};

use crate::aot::schemas::{Freezing, FrozenGraph};
use crate::dynamo::CapturedGraph;
use crate::dynamo::discarded::{erased, note};
use crate::dynamo::output_graph::graph_arg::GraphArg;
use crate::dynamo::settings::switch_of;
use crate::dynamo::source::own_attribute;
use crate::error::Result;
use crate::graph::{NodeId, Style, print_readable};
use crate::python::native::calls::imported;
use crate::python::native::tensor::{items, raised, to_tensor};
use crate::tensor::Tensor;

/// Whether a backend that runs Inductor's passes freezes a captured graph, and how.
pub fn freezing(captured: &CapturedGraph, has_passes: bool) -> Option<Freezing> {
    let is_on = |name, default| switch_of("torch._inductor.config", name).unwrap_or(default);
    if captured.grad || !has_passes || !is_on("freezing", false) {
        return None;
    }
    let attributes = captured.inputs.iter().take_while(|input| input.source.attribute.is_some());
    Some(Freezing {
        parameters: attributes.map(|input| (input.real.clone(), input.source.source.clone())).collect(),
        layout_optimization: is_on("layout_optimization", true),
        weight_prepack: is_on("cpp.weight_prepack", true),
        frozen: Rc::new(log),
    })
}

/// Logs a frozen graph as PyTorch's logger does.
fn log(frozen: &FrozenGraph) -> Result<()> {
    let text = print_readable(&frozen.graph, Style::PLAIN).text;
    let shown = format!("TRACED GRAPH\n ===== FROZEN GRAPH =====\n torch/fx/_lazy_graph_module.py {text}\n");
    with_current_vm(|vm| {
        imported("torch._inductor.freezing", vm).and_then(|module| vm.call_method(&module, "_log", (shown,))).map_err(raised)
    })?;
    Ok(())
}

/// Discards the parameters of a graph that was frozen, where `freezing_discard_parameters` asks for it, and what else their modules hold.
/// `modules` are those that the function may read.
pub fn discard(captured: &CapturedGraph, modules: impl FnOnce() -> Vec<PyObjectRef>) -> Result<()> {
    let is_on = |name| switch_of("torch._inductor.config", name).unwrap_or(false);
    let frozen: Vec<&Tensor> = captured.inputs.iter().filter(|input| input.source.is_frozen).map(|input| &input.real).collect();
    if frozen.is_empty() || !is_on("freezing") || !is_on("freezing_discard_parameters") {
        return Ok(());
    }
    with_current_vm(|vm| {
        let read = |module: &PyObjectRef| {
            let held = ["_parameters", "_buffers"].into_iter().filter_map(|registry| own_attribute(module, registry, vm));
            let held = held.filter_map(|held| held.downcast::<PyDict>().ok()).flatten();
            held.filter_map(|(_, o)| to_tensor(&o)).any(|t| frozen.iter().any(|f| f.is(&t)))
        };
        let modules: Vec<PyObjectRef> = modules().into_iter().filter(read).collect();
        let library = imported("torch._inductor.freezing", vm)?;
        let discarded = vm.call_method(library.as_object(), "_discard", (vm.ctx.new_list(modules),))?;
        let discarded: Vec<PyObjectRef> = discarded.try_to_value(vm)?;
        for pair in discarded {
            if let Some([tensor, erased]) = items(&pair).as_deref()
                && let Some(tensor) = to_tensor(tensor)
            {
                note(&tensor, erased.clone());
            }
        }
        Ok(())
    })
    .map_err(raised)
}

/// Refuses to compile a graph that reads what was discarded.
pub fn refuse_discarded(captured: &CapturedGraph) -> Result<()> {
    let erased = |input: &GraphArg| erased(&input.real).map(|erased| (input.node, erased));
    let first_reader = |id: NodeId| captured.graph.nodes().find(|n| n.inputs().contains(&id)).and_then(|n| n.op()).unwrap_or_default();
    let Some((node, erased)) = captured.inputs.iter().find_map(erased) else { return Ok(()) };
    // What a composite operator calls first.
    let op = match first_reader(node) {
        "aten.linear.default" => "aten.t.default",
        op => op,
    };
    with_current_vm(|vm| {
        let module = imported("torch._inductor.freezing", vm)?;
        vm.call_method(&module, "_refuse", (op, erased)).map(drop)
    })
    .map_err(raised)
}
