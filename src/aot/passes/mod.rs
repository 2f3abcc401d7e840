//! Inductor's passes on what was traced, before a joint graph is split: copies that copy nothing, constants, pairs of views,
//! attention, scatters onto constants, softmax of scaled values, random numbers.
//!
//! The rules are those of PyTorch 2.15's `joint_graph_passes`, as far as they apply on the CPU.

mod attention;
pub(super) mod edit;
mod noop;
mod patterns;
mod random;
mod rewrite;
mod scatter;
mod softmax;
mod uniform;

pub use super::schemas::Passes;
use crate::error::Result;
use crate::graph::Graph;

impl Passes {
    /// Runs the passes in PyTorch's order. `replayed` are positions of inputs that are written to after the graph has run.
    ///
    /// # Errors
    /// Those of the operators that constants are folded by.
    pub fn apply(&self, graph: &mut Graph, replayed: &[usize]) -> Result<()> {
        // Bodies of control flow come first, each a graph like others.
        graph.subgraphs.iter_mut().try_for_each(|(_, body)| self.apply(body, &[]))?;
        noop::remove(graph, replayed)?;
        if self.joint_graph_constant_folding {
            uniform::fold(graph)?;
        }
        if self.pattern_matcher {
            patterns::remove_pointless_views(graph);
            attention::fuse(graph, self.fallback_random)?;
            patterns::join_casts(graph);
            scatter::compare_instead(graph)?;
            softmax::stabilize(graph)?;
        }
        if !self.fallback_random {
            random::replace(graph)?;
        }
        graph.validate()
    }
}
