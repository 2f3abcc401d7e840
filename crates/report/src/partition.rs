//! What the partitioner decided, as page and command line show it; and the answers to questions asked later, about a joint
//! graph that is still at hand: other budgets, what if a value were recomputed, the network, memory over time.

use super::Span;
use super::sentences::Sentence;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The minimum cut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Cut {
    /// Its capacity.
    pub value: f64,
    /// Capacity of each node's own edge: a number, or the text `inf`.
    pub capacities: BTreeMap<String, Capacity>,
    /// Why a value may not be recomputed.
    pub reasons: BTreeMap<String, String>,
}

/// The capacity of a node in the flow network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(untagged)]
pub enum Capacity {
    /// A weight in bytes, scaled by distance.
    Finite(#[serde(serialize_with = "whole")] f64),
    /// What a symbolic number or the state of a backward costs: no bytes.
    Symbolic(f64),
    /// `inf`.
    Infinite(String),
}

impl Default for Capacity {
    fn default() -> Self {
        Capacity::Finite(0.0)
    }
}

/// Weights are whole numbers, and are written as such.
fn whole<S: serde::Serializer>(weight: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if weight.fract() == 0.0 && weight.abs() < 9e15 { serializer.serialize_i64(*weight as i64) } else { serializer.serialize_f64(*weight) }
}

/// What the partitioner decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Partition {
    /// Its name: `default_partition` or `min_cut_rematerialization_partition`.
    pub partitioner: String,
    /// `activation_memory_budget`.
    #[serde(default)]
    pub budget: f64,
    /// Values the rules forbid to recompute.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub banned: Option<Vec<String>>,
    /// The cut by the default rules, where one was made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut: Option<Cut>,
    /// The cut that decided, where a memory budget asked for another one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decisive: Option<Cut>,
    /// Forward values that the backward computes again.
    #[serde(default)]
    pub recomputed: Vec<String>,
    /// Random calls that the backward makes again without the forward's state, by PyTorch's decision. Here they get it.
    #[serde(default)]
    pub replayed: Vec<String>,
    /// Per forward value, what became of it and why.
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// Bytes of the saved tensors, as they are listed: a view counts as if it had memory of its own, and so does an input.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number"))]
    pub saved_bytes: u64,
    /// Bytes of activations that saving keeps alive: the storages of saved values, each once, without those of inputs.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number"))]
    pub activation_bytes: u64,
    /// What is recomputed costs so much.
    #[serde(default)]
    pub recompute_cost: Cost,
    /// PyTorch's debug report (`AOT_PARTITIONER_DEBUG`).
    #[serde(default)]
    pub debug_report: Vec<String>,
}

/// What became of one forward value, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Decision {
    /// The value's name in the joint graph.
    pub name: String,
    /// `saved`, `recomputed`, `backward only` (only the backward computes it) or `not needed`.
    pub fate: String,
    /// The rule that decided, in words.
    pub reason: String,
    /// What saving it costs in the network, and how that came about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<CapacityParts>,
    /// Calls of the backward that read it.
    #[serde(default)]
    pub needed_by: Vec<String>,
    /// Of a recomputed value: what it is recomputed from.
    #[serde(default)]
    pub recomputed_from: Vec<String>,
    /// Of a recomputed value: what recomputing it alone costs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
    /// The line of the script.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
}

/// A capacity, taken apart: `bytes`, grown by a tenth per step to the backward, and doubled where the value would be fused away.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CapacityParts {
    /// The capacity.
    pub value: Capacity,
    /// Bytes of the value.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Steps to the nearest node of the backward, 1 to 100; 0 where they do not count.
    #[cfg_attr(test, ts(type = "number"))]
    pub distance: u64,
    /// `1.1` to the power of the distance.
    pub factor: f64,
    /// Whether it counts twice.
    pub doubled: bool,
    /// Why it is infinite, or not a matter of bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
}

/// What computing something costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Cost {
    /// Calls.
    #[cfg_attr(test, ts(type = "number"))]
    pub calls: u64,
    /// Floating-point operations of matrix products, convolutions and attention.
    pub flops: f64,
    /// Bytes written.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
}

/// Which partition is asked for; what is absent is as in the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct PartitionQuery {
    /// The partitioner's name.
    #[serde(default)]
    pub partitioner: Option<String>,
    /// `activation_memory_budget`
    #[serde(default)]
    pub budget: Option<f64>,
    /// `activation_memory_budget_solver`
    #[serde(default)]
    pub solver: Option<String>,
    /// A value that must be recomputed.
    #[serde(default)]
    pub recompute: Option<String>,
}

/// A partition of a joint graph made on demand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct PartitionAnswer {
    /// What was decided.
    pub partition: Partition,
    /// Memory through forward and backward.
    pub memory: MemoryProfile,
}

/// A value and its bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct ValueSize {
    /// Its name.
    pub name: String,
    /// Its bytes; 0 for a symbolic number.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
}

/// What would be saved instead if a saved value were recomputed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Counterfactual {
    /// The value.
    pub name: String,
    /// Why that is impossible, where it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub impossible: Option<String>,
    /// Values that would be saved instead.
    pub saved_instead: Vec<ValueSize>,
    /// Values that would no longer be saved.
    pub no_longer_saved: Vec<ValueSize>,
    /// By how many bytes the saved tensors would grow.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: i64,
    /// By how much the cut would grow.
    pub cut: f64,
    /// What else would be recomputed.
    pub recomputed: Vec<String>,
}

/// A budget's place on the curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CurvePoint {
    /// `activation_memory_budget`
    pub budget: f64,
    /// Bytes of the saved tensors.
    #[cfg_attr(test, ts(type = "number"))]
    pub saved_bytes: u64,
    /// Most bytes alive at once.
    #[cfg_attr(test, ts(type = "number"))]
    pub peak_bytes: u64,
    /// What is recomputed.
    pub recompute: Cost,
    /// Values recomputed.
    #[cfg_attr(test, ts(type = "number"))]
    pub recomputed: u64,
}

/// Live bytes through forward and backward.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct MemoryProfile {
    /// What it shows: `eager`, `default_partition`, ...
    pub label: String,
    /// The calls, in order.
    pub steps: Vec<MemoryStep>,
    /// What takes memory, in order of birth.
    pub values: Vec<MemoryValue>,
    /// The step at which most bytes are alive.
    pub peak_step: u32,
    /// How many bytes that is.
    #[cfg_attr(test, ts(type = "number"))]
    pub peak_bytes: u64,
    /// Bytes alive between forward and backward, inputs and outputs included.
    #[cfg_attr(test, ts(type = "number"))]
    pub between_bytes: u64,
    /// Bytes of activations kept for the backward: storages that the forward makes and the backward reads.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number"))]
    pub saved_bytes: u64,
}

/// A call, with what is alive while it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct MemoryStep {
    /// Its name.
    pub name: String,
    /// Whether the backward makes it.
    pub is_backward: bool,
    /// Bytes alive, its result included.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
}

/// A storage, alive from one step to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct MemoryValue {
    /// The value whose storage it is.
    pub name: String,
    /// `input`, `saved`, `output`, `tangent`, `gradient` or `temporary`.
    pub kind: String,
    /// Its bytes.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// The step that makes it; 0 for what is there from the start.
    pub born: u32,
    /// The last step at which it is alive.
    pub dies: u32,
    /// The script's line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span: Option<Span>,
    /// The file that the line is in.
    #[serde(skip)]
    #[cfg_attr(test, ts(skip))]
    pub file: String,
    /// The module that it was made in, as in `named_modules()`: `layers.0.attn`.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    #[cfg_attr(test, ts(optional, as = "Option<String>"))]
    pub module_path: String,
    /// Whether it is a parameter.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub is_parameter: bool,
}

/// The flow network of a cut. Every value is an edge that costs what saving it costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CutNetwork {
    /// Its values, in the graph's order.
    pub nodes: Vec<CutNode>,
    /// From a value to one that reads it, as positions in `nodes`.
    pub edges: Vec<(u32, u32)>,
    /// Values of the whole network, of which these may be a part.
    pub total: u32,
    /// The cut's capacity.
    pub value: f64,
}

/// A value in the flow network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CutNode {
    /// Its name.
    pub name: String,
    /// What saving it costs; absent where the backward computes it from tangents, or must recompute it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<Capacity>,
    /// Whether it is on the cut.
    pub cut: bool,
    /// `forward`: it is known when the forward ends; `backward`: the backward computes it.
    pub side: String,
    /// Why it may not be recomputed: an infinite edge from the source.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
    /// Why the backward must have it: an infinite edge to the sink.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sink: Option<String>,
}

/// A question about a compilation's joint graph. It needs no run of the script: the graph is still at hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Question {
    /// Another partition of it.
    Partition {
        /// Which.
        #[serde(default)]
        query: PartitionQuery,
    },
    /// Memory in eager mode.
    Eager,
    /// Where the peak of memory is, and of what.
    Peak {
        /// The budget to compare with.
        budget: f64,
    },
    /// Saved and peak bytes over budgets.
    Curve {
        /// `activation_memory_budget_solver`; as in the run where absent.
        #[serde(default)]
        solver: Option<String>,
        /// How many budgets beside 0.
        #[serde(default)]
        points: Option<u32>,
    },
    /// What if a saved value were recomputed.
    Counterfactual {
        /// The value.
        name: String,
        /// The partition it is saved in.
        #[serde(default)]
        query: PartitionQuery,
    },
    /// The flow network and its cut.
    Network {
        /// The partition it belongs to.
        #[serde(default)]
        query: PartitionQuery,
        /// Only values this many steps from one of this name.
        #[serde(default)]
        around: Option<String>,
        /// How many steps.
        #[serde(default)]
        radius: Option<u32>,
    },
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To `partition`.
    Partition {
        /// The partition.
        partition: Box<PartitionAnswer>,
    },
    /// To `eager`.
    Eager {
        /// Memory in eager mode.
        memory: MemoryProfile,
        /// What the run's partition keeps for the backward, and what eager mode does.
        kept: Sentence,
        /// Whether that of eager mode is less.
        is_less: bool,
    },
    /// To `peak`.
    Peak {
        /// The sentence.
        sentence: Sentence,
    },
    /// To `curve`.
    Curve {
        /// From a budget of 0 to 1.
        points: Vec<CurvePoint>,
    },
    /// To `counterfactual`.
    Counterfactual {
        /// What would be otherwise.
        counterfactual: Counterfactual,
    },
    /// To `network`.
    Network {
        /// The network.
        network: CutNetwork,
    },
    /// It cannot be answered.
    Failed {
        /// Why.
        message: String,
    },
}
