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

/// An input that is drawn: a normal distribution like that of the script's own values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Drawn {
    /// The input. Its value in the bundle has sizes and strides, and no bytes.
    pub name: String,
    /// Its bytes.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Mean of the script's own values, of a sample of them.
    pub mean: f64,
    /// Standard deviation of these.
    pub deviation: f64,
    /// Whether none of them was negative: then none is drawn.
    pub is_positive: bool,
}

/// What the CPU computed for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Expected {
    /// One value per output of the forward.
    pub forward: Vec<Named>,
    /// One value per output of the backward.
    pub backward: Vec<Named>,
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
    /// Per tangent, the output of the forward that it is the gradient of, by index.
    #[serde(default)]
    pub tangent_of: Vec<u32>,
    /// The random generator's state before it ran, where it draws: run again, it draws the same.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Uint8Array | null"))]
    pub generator: Option<ByteBuf>,
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
    /// Inputs that training changes, by index: leaves of floats that require grad.
    #[serde(default)]
    pub parameters: Vec<u32>,
    /// Inputs whose new values are the forward's first outputs, by index, in order: the runtime writes them back.
    #[serde(default)]
    pub mutated: Vec<u32>,
    /// Inputs whose values were not kept, since all of them take too much: whoever runs the bundle draws them, and has the CPU compute
    /// what is expected.
    #[serde(default)]
    pub drawn: Vec<Drawn>,
    /// Whether what the CPU computed was not kept, either: it is computed anew.
    #[serde(default)]
    pub recomputes: bool,
    /// Bytes of the inputs and of what was computed, tangents and gradients included.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// The random generator's state before the forward ran, where it draws.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Uint8Array | null"))]
    pub generator: Option<ByteBuf>,
    /// The backward, once one has run.
    #[serde(default)]
    pub backward: Option<BackwardBundle>,
}

/// What a device keeps of a graph for one set of sizes: kernels, buffers and dispatches, recorded once and replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct PlanInfo {
    /// The graph's inputs and their sizes: `primals_1: f32[3, 4]`.
    pub inputs: Vec<String>,
    /// Kernels that a run dispatches.
    pub dispatches: u32,
    /// Bytes of device memory that are its own: what it keeps and returns.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Bytes that it takes from the memory that all plans share.
    #[cfg_attr(test, ts(type = "number"))]
    pub shared: u64,
    /// How often it has run.
    pub runs: u32,
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
    /// Features it has, by WebGPU's names.
    pub features: Vec<String>,
    /// Plans that it keeps, the one that ran last first.
    #[serde(default)]
    pub plans: Vec<PlanInfo>,
    /// Bytes of the memory that all plans share.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number"))]
    pub pool: u64,
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
    /// The buffers that it binds, `b0`, `b1` and so on in its source: the node each was made for.
    #[serde(default)]
    pub buffers: Vec<String>,
    /// Why it is not part of the kernel that makes what it reads.
    #[serde(default)]
    pub apart: Option<Apart>,
    /// Its source in WGSL; empty where a processor runs the node directly.
    pub wgsl: String,
}

/// Why two kernels are not one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Apart {
    /// The last node of the other one.
    pub node: String,
    /// Why, as a clause whose subject is this one.
    pub why: String,
}

/// One dispatch of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Dispatch {
    /// Index into the part's kernels.
    pub kernel: u32,
    /// Workgroups in x, y and z; zeros on a processor.
    pub workgroups: [u32; 3],
    /// Bytes of the buffers it reads and of those it writes; zeros on a processor.
    #[cfg_attr(test, ts(type = "[number, number]"))]
    pub bytes: [u64; 2],
    /// Operations on numbers that it does: a function counts four.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number"))]
    pub operations: u64,
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
    /// Index of the element with the largest absolute difference, where there is one.
    #[cfg_attr(test, ts(type = "Array<number> | null"))]
    pub at: Option<Vec<u64>>,
    /// Elements whose difference is beyond what `torch.testing.assert_close` allows for the dtype that was computed in.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub outside: Option<u64>,
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
    /// What the CPU computed for the comparison, where the bundle does not have that.
    #[serde(default)]
    pub expected: Option<Expected>,
}

/// How a [`Bundle`] is trained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Recipe {
    /// Names of the inputs that change.
    pub parameters: Vec<String>,
    /// The output that is the loss; without it the mean of an output's squares is, where no output is a scalar.
    pub loss: Option<String>,
    /// Step size; it may be changed between steps.
    pub lr: f64,
    /// How much of the last step's direction is kept; 0 for none.
    pub momentum: f64,
}

/// A training that is ready to take steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Training {
    /// What takes the steps.
    pub device: Device,
    /// The output that is the loss.
    pub loss: String,
    /// Whether the loss is the mean of that output's squares, in the place of a scalar.
    pub stands_in: bool,
    /// Inputs that change: parameters.
    pub parameters: Vec<String>,
    /// Inputs that the forward itself writes to: they are carried from step to step.
    pub carried: Vec<String>,
    /// Kernels that a step runs on the device.
    pub dispatches: u32,
    /// Nodes of a step that run on the processor between them.
    pub fallbacks: u32,
    /// Bytes of device memory.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// What a reader of the losses should know.
    pub notes: Vec<String>,
    /// The step as a graph: forward, backward and optimizer.
    pub readable: String,
    /// Seconds to build it.
    pub compile_seconds: f64,
}

/// The most that a device was seen to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Roof {
    /// Multiplications and additions of float32 a second.
    pub operations: f64,
    /// Bytes read and written a second.
    pub bytes: f64,
}

/// How long a step of a compilation takes: forward and backward, and the optimizer's where there is one. Inputs stay where they are,
/// and the loss of each is read before the next begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Timed {
    /// What took them.
    pub device: Device,
    /// Seconds of the first step, with writing and building the kernels.
    pub first_seconds: f64,
    /// Seconds of each step after it.
    pub seconds: Vec<f64>,
    /// The loss before the first step.
    pub loss: f64,
    /// Pipelines that were built for it: equal kernels are one.
    pub pipelines: u32,
    /// Bytes of device memory.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// The kernels of a step; none on a processor.
    pub kernels: Vec<Kernel>,
    /// Its dispatches, in order.
    pub dispatches: Vec<Dispatch>,
    /// The most that the device can do; not of a processor.
    pub roof: Option<Roof>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The step as a graph.
    pub readable: String,
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
