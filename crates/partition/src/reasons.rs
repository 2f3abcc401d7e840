//! Why a value may not be recomputed, and why saving one costs what it costs: in PyTorch's words, and for a person.

/// Why a value may not be recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BanReason {
    /// It is an input of the forward.
    PrimalInput,
    /// It is where the forward's random numbers begin.
    ForwardRngSeed,
    /// Checkpointing says to save it.
    MarkedMustSave,
    /// `ban_if_not_in_allowlist`
    NotInAllowlist,
    /// It draws random numbers.
    Random,
    /// Its operator is compute-intensive.
    ComputeIntensive,
    /// `ban_if_materialized_backward`
    MaterializedInBackward,
    /// `max_dist_from_bw`
    TooFarFromBackward,
    /// `ban_if_reduction`
    Reduction,
    /// `ban_if_used_far_apart`
    UsedFarApart,
    /// `ban_if_long_fusible_chains`
    LongFusibleChain,
}

impl BanReason {
    /// What PyTorch says of the value where no cut is found.
    pub(super) fn name(self) -> &'static str {
        match self {
            BanReason::PrimalInput => "cannot recompute: primal input",
            BanReason::ForwardRngSeed => "cannot recompute: forward RNG seed",
            BanReason::MarkedMustSave => "cannot recompute: marked MUST_SAVE",
            BanReason::NotInAllowlist => "cannot recompute: not in recomputable allowlist",
            BanReason::Random => "cannot recompute: random op",
            BanReason::ComputeIntensive => "cannot recompute: compute intensive op",
            BanReason::MaterializedInBackward => "cannot recompute: materialized in backward",
            BanReason::TooFarFromBackward => "cannot recompute: too far from backward",
            BanReason::Reduction => "cannot recompute: reduction op",
            BanReason::UsedFarApart | BanReason::LongFusibleChain => "cannot recompute",
        }
    }

    /// The rule for a person.
    pub(super) fn words(self) -> &'static str {
        match self {
            BanReason::PrimalInput => "it is an input",
            BanReason::ForwardRngSeed => "forward RNG seed",
            BanReason::MarkedMustSave => "checkpointing says to save it",
            BanReason::NotInAllowlist => "its operator is not in the recomputable list",
            BanReason::Random => "it draws random numbers",
            BanReason::ComputeIntensive => "its operator is compute-intensive",
            BanReason::MaterializedInBackward => "the backward uses it in a call that does not fuse, so it would be materialized anyway",
            BanReason::TooFarFromBackward => "it is farther from the backward than max_dist_from_bw allows",
            BanReason::Reduction => "its result is less than a quarter of what it reads: small to save, much to read again",
            BanReason::UsedFarApart | BanReason::LongFusibleChain => {
                "it is read far from what it would be fused with, or ends a long chain of fusible calls"
            }
        }
    }
}

/// Why saving a value costs nothing like its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CostNote {
    /// It is a number.
    Symbolic,
    /// It holds the hooks of a backward.
    BackwardState,
    /// It is neither a tensor nor a number.
    NonTensor,
    /// It is an input that is written to when the forward has run.
    ReplayedMutation,
    /// It lives as long as the model.
    FreeParameter,
    /// It is a view, and those are recomputed.
    View,
}

impl CostNote {
    /// What PyTorch says of the value where no cut is found, and the report of its capacity.
    pub(super) fn name(self) -> &'static str {
        match self {
            CostNote::Symbolic => "a symbolic number",
            CostNote::BackwardState => "the state of a backward, free to save",
            CostNote::NonTensor => "cannot save: non-tensor output",
            CostNote::ReplayedMutation => "cannot save: input mutation replayed after forward",
            CostNote::FreeParameter => "parameter, free to save",
            CostNote::View => "cannot save: view op (recompute_views=True)",
        }
    }
}
