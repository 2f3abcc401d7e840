"""Settings of symbolic sizes. Names and defaults of torch/fx/experimental/_config.py. Source: PyTorch

`torch.utils._config_module` says what the rows mean."""

import enum

from torch.utils._config_module import install

_ROWS = (
    ("no_data_dependent_graph_break", False, "refused", "TORCHDYNAMO_NO_DATA_DEPENDENT_GRAPH_BREAK one"),
    ("translation_validation", False, "obeyed dynamic_shapes/validated", "TORCHDYNAMO_TRANSLATION_VALIDATION one"),
    ("translation_validation_timeout", 600000, "no effect steps", "TORCHDYNAMO_TRANSLATION_VALIDATION_TIMEOUT int"),
    ("translation_validation_no_bisect", False, "obeyed dynamic_shapes/flipped_guards", "TORCHDYNAMO_TRANSLATION_NO_BISECT one"),
    ("check_shape_env_recorded_events", False, "no effect checks"),
    ("extended_debug_guard_added", None, "no effect files", "TORCHDYNAMO_EXTENDED_DEBUG_GUARD_ADDED text"),
    ("extended_debug_create_symbol", None, "no effect files", "TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL text"),
    ("extended_debug_cpp", False, "no effect files", "TORCHDYNAMO_EXTENDED_DEBUG_CPP set"),
    ("extended_debug_current_loc", False, "no effect files", "TORCHEXPORT_EXTENDED_DEBUG_CURRENT_LOC one"),
    ("print_specializations", False, "no effect files"),
    ("inject_EVALUATE_EXPR_flip_equality_TESTING_ONLY", False, "obeyed dynamic_shapes/flipped_guards"),
    ("validate_shape_env_version_key", False, "no effect checks"),
    ("symbol_guard_limit_before_specialize", None, "refused"),
    ("use_duck_shape", True, "obeyed settings/shapes"),
    ("meta_nonzero_assume_all_nonzero", False, "refused"),
    ("backed_size_oblivious", False, "obeyed settings/size_oblivious"),
    ("unify_view_symbols_bso_meta", False, "refused"),
    ("skip_dtype_check_in_meta_registrations", False, "refused"),
    ("enrich_profiler_metadata", False, "no effect files", "TORCH_ENRICH_RPOFILER_STACK_TRACE flag"),
    ("soft_pending_unbacked_not_found_error", False, "refused"),
    ("aggressive_guard_free_semantics", 0, "refused"),
)

_SEVERAL_TYPES = """
symbol_guard_limit_before_specialize
""".split()

_COMPILE_IGNORED = """
extended_debug_cpp extended_debug_create_symbol extended_debug_current_loc extended_debug_guard_added
no_data_dependent_graph_break print_specializations translation_validation translation_validation_no_bisect
translation_validation_timeout validate_shape_env_version_key
""".split()

install(__name__, _ROWS, several_types=_SEVERAL_TYPES, compile_ignored=_COMPILE_IGNORED)


class AggressiveGuardFreeMode(enum.IntEnum):
    """Values of `aggressive_guard_free_semantics`."""

    DISABLED = 0
    VALUE_RANGE_ANALYSIS = 1
    SKIP_RANGE_ANALYSIS = 2
