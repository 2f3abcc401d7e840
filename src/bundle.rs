//! A run described by plain data: what goes to the device that executes a compiled graph, and what comes back.
//!
//! A [`Bundle`] holds everything needed to execute one compilation again, elsewhere: forward and backward as readable text,
//! the inputs and tangents they were called with, and what the CPU computed from them. It crosses workers (and, later, files)
//! as it is; whoever receives it parses the text, compiles it for its device, runs it and answers with a [`RunResult`].
//! Nothing here refers to the compiler's own types.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// The version of the shape of [`Bundle`] and [`RunResult`]; a reader that meets another one says so.
pub const BUNDLE_VERSION: u32 = 1;

/// A tensor as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct TensorData {
    /// Name of the dtype: `float32`, `float64`, `int64`, `bool`, ...
    pub dtype: String,
    /// Sizes.
    #[cfg_attr(test, ts(type = "Array<number>"))]
    pub shape: Vec<u64>,
    /// Strides in elements; 0 where a size is expanded.
    #[cfg_attr(test, ts(type = "Array<number>"))]
    pub stride: Vec<u64>,
    /// Its elements as they lie in storage, little endian, from the tensor's own first element to its last: the element at
    /// index `i` begins at byte `itemsize * sum(i[d] * stride[d])`. A bool takes one byte.
    #[cfg_attr(test, ts(type = "Uint8Array"))]
    pub bytes: ByteBuf,
}

/// What a placeholder takes or an output gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Value {
    /// `None`: a gradient that does not exist.
    #[default]
    None,
    /// A tensor.
    Tensor {
        /// Its data.
        tensor: TensorData,
    },
    /// An integer: a size.
    Int {
        /// Its value.
        #[cfg_attr(test, ts(type = "number"))]
        value: i64,
    },
    /// A float.
    Float {
        /// Its value.
        value: f64,
    },
    /// A boolean.
    Bool {
        /// Its value.
        value: bool,
    },
}

/// A value and the name of the node that takes or gives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Named {
    /// Name of the node in its graph: `primals_1`, `addmm_2`.
    pub name: String,
    /// What the script calls it, where that is known: `0.weight` for a parameter and for its gradient.
    #[serde(default)]
    pub label: Option<String>,
    /// The value.
    pub value: Value,
}

/// The partitioned backward and what it was called with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct BackwardBundle {
    /// Its readable text. Its placeholders are the saved values, by their names in the forward, then the tangents.
    pub readable: String,
    /// The tangents, in the order of their placeholders.
    pub tangents: Vec<Named>,
    /// What the CPU computed: one value per output of the backward, named for the primal it is the gradient of.
    pub expected: Vec<Named>,
}

/// One compilation, ready to be run elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Bundle {
    /// [`BUNDLE_VERSION`].
    pub version: u32,
    /// Id of the compilation in the report.
    pub compilation: u32,
    /// Readable text of the forward, or of the inference graph where there is no backward.
    pub forward: String,
    /// One value per placeholder of the forward, in order.
    pub inputs: Vec<Named>,
    /// How many of the forward's first outputs are not there for the backward only: mutated inputs and the function's own
    /// outputs. The rest are the saved values, that the backward takes by name.
    pub num_outputs: u32,
    /// What the CPU computed: one value per output of the forward, saved values included.
    pub expected: Vec<Named>,
    /// The backward, once one has run.
    #[serde(default)]
    pub backward: Option<BackwardBundle>,
}

/// What ran a bundle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Device {
    /// `webgpu`, `vulkan`, ... or `cpu`.
    pub backend: String,
    /// Name, as far as the browser or driver tells: `google swiftshader`.
    pub name: String,
    /// Vendor, architecture, driver and whatever else is told, for people.
    pub description: String,
    /// Whether a processor pretends to be a GPU: slower than the CPU itself.
    pub software: bool,
    /// Features that were asked for and granted, by WebGPU's names.
    pub features: Vec<String>,
    /// Limits that plans depend on, by WebGPU's names.
    #[cfg_attr(test, ts(type = "Record<string, number>"))]
    pub limits: std::collections::BTreeMap<String, f64>,
}

/// A generated kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Kernel {
    /// Its name: unique in its part.
    pub name: String,
    /// The nodes of the graph it computes, by name, in order.
    pub nodes: Vec<String>,
    /// Its source in WGSL; empty where a processor runs the node directly.
    pub wgsl: String,
}

/// One dispatch of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Dispatch {
    /// Index into the part's kernels.
    pub kernel: u32,
    /// Workgroups in x, y and z; zeros on a processor.
    pub workgroups: [u32; 3],
    /// Time it took, where the device can tell.
    pub microseconds: Option<f64>,
}

/// A value the device computed and its distance from the CPU's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Computed {
    /// Name, label and value, as the device computed it.
    #[serde(flatten)]
    pub named: Named,
    /// Largest absolute difference from the expected value; `None` where one of them is no tensor or holds no element.
    pub max_abs: Option<f64>,
    /// Largest difference relative to the larger magnitude of the two elements.
    pub max_rel: Option<f64>,
    /// Why the two cannot be compared: another shape, another dtype, NaN on one side.
    pub mismatch: Option<String>,
}

/// A graph as it was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct PartResult {
    /// One per output of the graph, in order.
    pub outputs: Vec<Computed>,
    /// The kernels it was compiled to.
    pub kernels: Vec<Kernel>,
    /// The dispatches, in order.
    pub dispatches: Vec<Dispatch>,
    /// What a reader of the results should know: operators that ran on the CPU and why, numbers kept narrower.
    pub notes: Vec<String>,
    /// Seconds to generate and build the kernels.
    pub compile_seconds: f64,
    /// Seconds from the first upload to the last value read back.
    pub run_seconds: f64,
}

/// What running a [`Bundle`] gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct RunResult {
    /// [`BUNDLE_VERSION`].
    pub version: u32,
    /// Id of the compilation in the report.
    pub compilation: u32,
    /// What ran it.
    pub device: Device,
    /// The forward, or the inference graph.
    pub forward: PartResult,
    /// The backward.
    pub backward: Option<PartResult>,
}

/// Why a [`Bundle`] could not be run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct RunError {
    /// What went wrong, for people.
    pub message: String,
    /// The node it concerns, by name.
    pub node: Option<String>,
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.node {
            Some(node) => write!(f, "{node}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for RunError {}
