//! From the compiler's own types to what a report shows of a compilation.

use crate::aot::compile::Artifacts;
use crate::aot::metadata::ViewAndMutationMeta;
use crate::graph::{FakeValue, Graph, Node, Opcode, Target};
use crate::graph_view::view;
use crate::report::{Compilation, CompilationKind, InputInfo, Metadata, OutputInfo, Saved};

/// One AOTAutograd compilation.
pub fn compilation(id: u32, region: Option<u32>, artifacts: &Artifacts) -> Compilation {
    let traced = view(&artifacts.traced);
    let mut out = Compilation {
        id,
        region,
        kind: if artifacts.is_joint { CompilationKind::Joint } else { CompilationKind::Inference },
        metadata: Some(metadata(&artifacts.traced, &artifacts.metadata)),
        seq_nr: artifacts
            .traced
            .nodes()
            .filter(|n| n.opcode == Opcode::Call)
            .map(|n| {
                let target = if n.target == Target::Getitem { "_operator.getitem".to_owned() } else { n.target.text() };
                (n.meta.seq_nr, target, n.name.to_string())
            })
            .collect(),
        ..Compilation::default()
    };
    if artifacts.is_joint {
        out.joint = Some(traced);
    } else {
        out.inference = Some(traced);
    }
    if let Some(split) = &artifacts.partitioned {
        out.forward = Some(view(&split.forward));
        out.backward = Some(view(&split.backward));
        out.saved =
            Some(split.saved.iter().map(|name| saved(name, artifacts.traced.find(name).or_else(|| split.forward.find(name)))).collect());
        out.partition = Some(split.report.clone());
    }
    out
}

fn metadata(graph: &Graph, meta: &ViewAndMutationMeta) -> Metadata {
    Metadata {
        input_info: meta
            .input_info
            .iter()
            .zip(graph.placeholders())
            .map(|(info, node)| InputInfo {
                name: node.name.to_string(),
                is_leaf: info.is_leaf,
                mutates_data: info.mutates_data,
                mutates_metadata: info.mutates_metadata,
                mutations_hidden_from_autograd: info.mutations_hidden_from_autograd,
                mutations_under_no_grad_or_inference_mode: info.mutations_under_no_grad_or_inference_mode,
                requires_grad: info.requires_grad,
                mutation_type: info.mutation_type.name().to_owned(),
            })
            .collect(),
        output_info: meta
            .output_info
            .iter()
            .map(|info| OutputInfo {
                output_type: info.output_type.name().to_owned(),
                base_idx: info.base_idx.map(|i| i as u32),
                requires_grad: info.requires_grad,
            })
            .collect(),
        num_intermediate_bases: meta.num_intermediate_bases as u32,
    }
}

fn saved(name: &str, node: Option<&Node>) -> Saved {
    let mut out = Saved { name: name.to_owned(), ..Saved::default() };
    let Some(node) = node else { return out };
    out.span = node.meta.source.as_ref().map(|s| s.span.clone());
    match &node.meta.value {
        Some(FakeValue::Tensor(spec)) => {
            let text = |v: &[crate::shape::SymInt]| v.iter().map(ToString::to_string).collect();
            out.dtype = Some(spec.dtype.name().to_owned());
            out.shape = Some(text(&spec.geometry.sizes));
            out.stride = Some(text(&spec.geometry.strides));
            out.bytes = spec.bytes();
        }
        Some(FakeValue::Int(i)) => out.sym = Some(i.to_string()),
        _ => {}
    }
    out
}
