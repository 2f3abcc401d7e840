//! Inductor's passes on what was traced, before a joint graph is split: copies that copy nothing, constants, pairs of views,
//! attention, scatters onto constants, softmax of scaled values, random numbers.
//!
//! The rules are those of PyTorch 2.15's `joint_graph_passes`, as far as they apply on the CPU.

mod attention;
mod edit;
mod noop;
mod patterns;
mod random;
mod rewrite;
mod scatter;
mod softmax;
mod uniform;

use crate::error::Result;
use crate::graph::Graph;

/// Which passes run, by PyTorch's names in `torch._inductor.config`.
#[derive(Clone, Debug)]
pub struct Passes {
    /// `use_joint_graph_passes`
    pub use_joint_graph_passes: bool,
    /// `joint_graph_constant_folding`
    pub joint_graph_constant_folding: bool,
    /// `pattern_matcher`
    pub pattern_matcher: bool,
    /// `fallback_random`: random numbers are drawn as in eager mode.
    pub fallback_random: bool,
}

impl Default for Passes {
    fn default() -> Self {
        Passes { use_joint_graph_passes: true, joint_graph_constant_folding: true, pattern_matcher: true, fallback_random: false }
    }
}

impl Passes {
    /// Runs the passes in PyTorch's order. `replayed` are positions of inputs that are written to after the graph has run.
    ///
    /// # Errors
    /// Those of the operators that constants are folded by.
    pub fn apply(&self, graph: &mut Graph, replayed: &[usize]) -> Result<()> {
        if !self.use_joint_graph_passes {
            return Ok(());
        }
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
