//! Where capture stops: graph breaks, and frames that have reached a limit of recompiles.

use serde::{Deserialize, Serialize};

use crate::Span;

/// A place where capture had to stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct GraphBreak {
    /// Why, in PyTorch's words.
    pub reason: String,
    /// Where.
    pub span: Option<Span>,
    /// What PyTorch explains of it.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    #[cfg_attr(test, ts(optional, as = "Option<String>"))]
    pub explanation: String,
    /// What PyTorch hints at.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    pub hints: Vec<String>,
    /// PyTorch's page about breaks of this kind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub url: Option<String>,
}

/// A frame that is not compiled again: it has as many cache entries as `torch._dynamo.config` allows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct RecompileLimit {
    /// The frame id, as in `TORCH_LOGS=recompiles`.
    pub frame: u32,
    /// Name of the Python function.
    pub function: String,
    /// `recompile_limit` or `accumulated_recompile_limit`.
    pub config: String,
    /// Its value.
    pub limit: u32,
    /// The guard that failed last, in the words of `TORCH_LOGS=recompiles`.
    pub reason: String,
    /// How many calls ran it uncompiled.
    pub calls: u32,
    /// Where in the script these were made: each place once, the first hundred.
    pub called_at: Vec<Span>,
}

impl RecompileLimit {
    pub(crate) fn note(&mut self, span: Option<Span>) {
        const MOST: usize = 100;
        self.calls = self.calls.saturating_add(1);
        self.called_at.extend(span.filter(|span| self.called_at.len() < MOST && !self.called_at.contains(span)));
    }
}
