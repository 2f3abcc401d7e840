//! Random numbers drawn by position: seeds are drawn together from the generator, and every call has its own.

use super::edit::{Editor, Place};
use crate::error::Result;
use crate::graph::{Arg, FakeValue, Graph, Meta, NodeId};
use crate::tensor::{Device, Dtype, TensorSpec};

/// Replaces `rand`, `randn` and `randint`.
pub fn replace(graph: &mut Graph) -> Result<()> {
    let mut editor = Editor::new(graph);
    let mut seeds: Vec<NodeId> = Vec::new();
    // PyTorch's patterns are matched from the end, which shows in the names.
    for id in editor.ids().into_iter().rev() {
        if let Some(seed) = draw(&mut editor, id) {
            seeds.push(seed);
        }
    }
    seeds.reverse();
    let device_of = |editor: &Editor, seed: NodeId| editor.node(seed).tensor().map_or(Device::CPU, |spec| spec.device);
    let mut devices: Vec<Device> = Vec::new();
    for seed in &seeds {
        let device = device_of(&editor, *seed);
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    for device in devices {
        let own: Vec<NodeId> = seeds.iter().copied().filter(|seed| device_of(&editor, *seed) == device).collect();
        let Some(first) = own.first().copied() else { continue };
        let spec = |sizes: Vec<i64>| {
            let sizes = sizes.into_iter().map(Into::into).collect();
            Some(FakeValue::Tensor(TensorSpec::contiguous(sizes, Dtype::Int64, device)))
        };
        let count = own.len() as i64;
        let meta = Meta { value: spec(vec![count]), ..editor.node(first).meta.clone() };
        let args = vec![Arg::Int(count), Arg::Device(device)];
        let all = editor.call("prims.inductor_seeds.default", args, Vec::new(), meta, Place::Before(first));
        for (i, seed) in own.into_iter().enumerate() {
            let meta = editor.node(seed).meta.clone();
            let args = vec![Arg::Node(all), Arg::Int(i as i64)];
            let looked_up = editor.call("prims.inductor_lookup_seed.default", args, Vec::new(), meta, Place::Before(seed));
            editor.replace(seed, looked_up);
            editor.erase(seed);
        }
    }
    editor.finish();
    Ok(())
}

/// Puts a drawing by position in place of a call; gives its seed, which is still to be made.
fn draw(editor: &mut Editor, id: NodeId) -> Option<NodeId> {
    let node = editor.node(id);
    let mode = match node.op()? {
        "aten.rand.default" => Some("rand"),
        "aten.randn.default" => Some("randn"),
        "aten.randint.low" => None,
        _ => return None,
    };
    let keyword = |name: &str| node.kwargs.iter().find(|(k, _)| &**k == name).map(|(_, v)| v);
    if matches!(keyword("pin_memory"), Some(Arg::Bool(true))) {
        return None;
    }
    let (args, meta, spec) = (node.args.clone(), node.meta.clone(), node.tensor()?.clone());
    let dtype = match keyword("dtype") {
        Some(Arg::Dtype(d)) => Some(*d),
        _ => mode.is_none().then_some(Dtype::Int64),
    };
    let before = Place::Before(id);
    let scalar = Some(FakeValue::Tensor(TensorSpec::contiguous(Vec::new(), Dtype::Int64, spec.device)));
    let seed_meta = Meta { value: scalar, ..meta.clone() };
    let seed = editor.call("prims.inductor_seed.default", vec![Arg::Device(spec.device)], Vec::new(), seed_meta, before);
    let drawn = if mode.is_some() { Dtype::Float32 } else { Dtype::Int64 };
    let drawn_spec = TensorSpec::contiguous(spec.geometry.sizes.clone(), drawn, spec.device);
    let drawn_meta = Meta { value: Some(FakeValue::Tensor(drawn_spec)), ..meta.clone() };
    let mut made = match mode {
        Some(mode) => {
            let args = vec![args.first()?.clone(), Arg::Node(seed), Arg::Str(mode.into())];
            editor.call("prims.inductor_random.default", args, Vec::new(), drawn_meta, before)
        }
        None => {
            let args = args.into_iter().chain([Arg::Node(seed)]).collect();
            editor.call("prims.inductor_randint.default", args, Vec::new(), drawn_meta, before)
        }
    };
    if let Some(dtype) = dtype.filter(|d| *d != drawn) {
        made = editor.call("prims.convert_element_type.default", vec![Arg::Node(made), Arg::Dtype(dtype)], Vec::new(), meta, before);
    }
    editor.replace(id, made);
    editor.erase(id);
    Some(seed)
}
