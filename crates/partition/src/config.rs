//! What a partition is to be: which partitioner, which rules, which memory budget.

use diagnostics::error::Result;
use graph::{Graph, NodeId};

/// Which partitioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitioner {
    /// `default_partition`: everything the backward reads is saved.
    Default,
    /// `min_cut_rematerialization_partition`: the cheapest set of values is saved, the rest is recomputed.
    MinCut,
}

impl Partitioner {
    /// PyTorch's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Partitioner::Default => "default_partition",
            Partitioner::MinCut => "min_cut_rematerialization_partition",
        }
    }
}

/// What decides, by PyTorch's names in `torch._functorch.config`.
#[derive(Clone, Debug)]
pub struct PartitionConfig {
    /// Which partitioner.
    pub partitioner: Partitioner,
    /// Inputs that live as long as the model (`static_lifetime_input_indices`): positions among the primals.
    pub static_inputs: Vec<usize>,
    /// Inputs that require grad and are written to after the forward has run (`aot_runtime_epilogue_input_mutation`):
    /// positions among the primals. The backward would read what was written.
    pub replayed_mutations: Vec<usize>,
    /// `cse`
    pub cse: bool,
    /// `treat_parameters_as_free_to_save`
    pub treat_parameters_as_free_to_save: bool,
    /// `recompute_views`
    pub recompute_views: bool,
    /// `aggressive_recomputation`
    pub aggressive_recomputation: bool,
    /// `max_dist_from_bw`
    pub max_dist_from_bw: u64,
    /// `activation_memory_budget`
    pub activation_memory_budget: f64,
    /// `activation_memory_budget_require_full_coverage`: whether a budget that the script gives a region must hold for all of
    /// the forward.
    pub activation_memory_budget_require_full_coverage: bool,
    /// `activation_memory_budget_solver`
    pub activation_memory_budget_solver: MemoryBudgetSolver,
    /// `activation_memory_budget_runtime_estimator`
    pub activation_memory_budget_runtime_estimator: RuntimeEstimator,
    /// `ban_recompute_*`
    pub min_cut: MinCutOptions,
    /// Whether an unread random call is kept: so it is outside `torch.compile`.
    pub random_is_impure: bool,
}

impl Default for PartitionConfig {
    fn default() -> Self {
        PartitionConfig {
            partitioner: Partitioner::MinCut,
            static_inputs: Vec::new(),
            replayed_mutations: Vec::new(),
            cse: true,
            treat_parameters_as_free_to_save: true,
            recompute_views: false,
            aggressive_recomputation: false,
            max_dist_from_bw: 1000,
            activation_memory_budget: 1.0,
            activation_memory_budget_require_full_coverage: true,
            activation_memory_budget_solver: MemoryBudgetSolver::Dp,
            activation_memory_budget_runtime_estimator: RuntimeEstimator::Flops,
            min_cut: MinCutOptions {
                ban_if_used_far_apart: true,
                ban_if_long_fusible_chains: true,
                ban_if_materialized_backward: true,
                ban_if_not_in_allowlist: true,
                ban_if_reduction: true,
            },
            random_is_impure: false,
        }
    }
}

/// Which values may not be recomputed (PyTorch's `MinCutOptions`).
#[derive(Clone, Copy, Debug)]
pub struct MinCutOptions {
    /// A value read both nearby and beyond something that does not fuse.
    pub ban_if_used_far_apart: bool,
    /// The end of a chain of more than 100 fusible calls.
    pub ban_if_long_fusible_chains: bool,
    /// What a call of the backward that does not fuse reads.
    pub ban_if_materialized_backward: bool,
    /// Whatever is not listed as cheap.
    pub ban_if_not_in_allowlist: bool,
    /// Results of less than a quarter of their arguments' size.
    pub ban_if_reduction: bool,
}

/// How a memory budget chooses what is worth saving, by PyTorch's name (`activation_memory_budget_solver`).
#[derive(Clone, Debug)]
pub enum MemoryBudgetSolver {
    /// `dp`: a table of best values, memory counted in ten-thousandths of the budget's unit.
    Dp,
    /// `greedy`: by cost per memory.
    Greedy,
    /// `ilp`: an exact optimum.
    Ilp,
    /// `dp_knapsack_sliding_hirschberg`: `dp` in less memory, with other choices among equals.
    SlidingHirschberg,
    /// `dynamic_memory_budget_dp`: `dp` at the budget, of those up to the given one, where time and memory are both near their least.
    KneePoint,
    /// A script's own (`CustomKnapsackSolver`).
    Custom(Scripted<ChooseRecomputed>),
    /// One there is not.
    Other(String),
}

impl MemoryBudgetSolver {
    /// The solver of a name.
    pub fn of(name: &str) -> Self {
        match name {
            "dp" => MemoryBudgetSolver::Dp,
            "greedy" => MemoryBudgetSolver::Greedy,
            "ilp" => MemoryBudgetSolver::Ilp,
            "dp_knapsack_sliding_hirschberg" => MemoryBudgetSolver::SlidingHirschberg,
            "dynamic_memory_budget_dp" => MemoryBudgetSolver::KneePoint,
            other => MemoryBudgetSolver::Other(other.to_owned()),
        }
    }
}

/// What recomputing a value costs, by PyTorch's name (`activation_memory_budget_runtime_estimator`).
#[derive(Clone, Debug)]
pub enum RuntimeEstimator {
    /// `flops`: floating-point operations, one at least.
    Flops,
    /// `testing`: one each.
    Testing,
    /// A script's own (`CustomRuntimeEstimator`).
    Custom(Scripted<EstimateRuntimes>),
    /// One there is not.
    Other(String),
}

impl RuntimeEstimator {
    /// The estimator of a name.
    pub fn of(name: &str) -> Self {
        match name {
            "flops" => RuntimeEstimator::Flops,
            "testing" => RuntimeEstimator::Testing,
            other => RuntimeEstimator::Other(other.to_owned()),
        }
    }
}

/// What a memory budget chooses among.
pub struct Candidates<'a> {
    /// The joint graph.
    pub graph: &'a Graph,
    /// The inputs of the forward.
    pub inputs: &'a [NodeId],
    /// What the forward needs, in order.
    pub required_fw_nodes: &'a [NodeId],
    /// What the backward needs.
    pub required_bw_nodes: &'a [NodeId],
    /// What tangents reach.
    pub tangents_closure: &'a [NodeId],
    /// Inputs that live as long as the model.
    pub static_inputs: &'a [NodeId],
    /// Values that may be saved or recomputed, the largest first.
    pub nodes: &'a [NodeId],
    /// What saving each takes, in shares of what the fastest partition saves beyond its inputs.
    pub memory: &'a [f64],
    /// What recomputing each costs.
    pub runtime: &'a [f64],
    /// How much may be saved, in the same shares.
    pub budget: f64,
}

/// Positions of the candidates to recompute.
pub type ChooseRecomputed = dyn Fn(&Candidates) -> Result<Vec<usize>>;

/// What computing some nodes of a joint graph costs.
pub type EstimateRuntimes = dyn Fn(&Graph, &[NodeId]) -> Result<Vec<f64>>;

/// A function of the script's.
pub struct Scripted<F: ?Sized>(pub std::rc::Rc<F>);
