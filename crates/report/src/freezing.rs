//! What freezing did to an inference graph: its constants, and what they were computed from.

use serde::{Deserialize, Serialize};

/// What freezing did to an inference graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Freezing {
    /// The constants of the frozen graph, in order.
    pub constants: Vec<FrozenConstant>,
    /// Bytes of the parameters and buffers that are no inputs any more.
    #[cfg_attr(test, ts(type = "number"))]
    pub parameter_bytes: u64,
    /// Bytes of the constants.
    #[cfg_attr(test, ts(type = "number"))]
    pub constant_bytes: u64,
    /// How many calls fewer each run makes.
    pub folded_calls: u32,
    /// How long computing the constants took, once, in seconds.
    pub seconds: f64,
}

/// A constant of a frozen graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct FrozenConstant {
    /// Its node.
    pub name: String,
    /// Its bytes.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// The parameters that it was computed from, as guards name them.
    pub parameters: Vec<String>,
    /// The operators that computed it; none where it is a parameter itself.
    pub operators: Vec<String>,
}
