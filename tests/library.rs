//! What needs more than a script and its texts: questions, random functions, the command line, the shape of the code. docs/tests.md
//! says what is tested where.

use aot_playground::python::Counted;
use std::alloc::System;

#[path = "library/allocations.rs"]
mod allocations;
#[path = "library/aot_aliasing.rs"]
mod aot_aliasing;
#[path = "library/arguments.rs"]
mod arguments;
#[path = "library/bundles.rs"]
mod bundles;
#[path = "library/catalogue.rs"]
mod catalogue;
#[path = "library/checks.rs"]
mod checks;
#[path = "library/command_line.rs"]
mod command_line;
#[path = "library/decompositions.rs"]
mod decompositions;
#[path = "library/dynamic_shapes.rs"]
mod dynamic_shapes;
#[path = "library/examples.rs"]
mod examples;
#[path = "library/exports.rs"]
mod exports;
#[path = "library/files_of_programs.rs"]
mod files_of_programs;
#[path = "library/forgetting.rs"]
mod forgetting;
#[path = "library/graph_breaks.rs"]
mod graph_breaks;
#[path = "library/graph_views.rs"]
mod graph_views;
#[path = "library/interpreter.rs"]
mod interpreter;
#[path = "library/minimizing.rs"]
mod minimizing;
#[path = "library/mutants.rs"]
mod mutants;
#[path = "library/nn_operators.rs"]
mod nn_operators;
#[path = "harness/numbers.rs"]
mod numbers;
#[path = "library/partition_questions.rs"]
mod partition_questions;
#[path = "library/pretended_cuda.rs"]
mod pretended_cuda;
#[path = "library/random_functions.rs"]
mod random_functions;
#[path = "library/reports.rs"]
mod reports;
#[path = "library/rooms.rs"]
mod rooms;
#[path = "library/script.rs"]
mod script;
#[path = "library/settings.rs"]
mod settings;
#[path = "library/steps.rs"]
mod steps;
#[path = "library/tooling.rs"]
mod tooling;
#[path = "library/traces.rs"]
mod traces;
#[path = "library/training.rs"]
mod training;
#[path = "library/what_if.rs"]
mod what_if;
#[path = "library/words.rs"]
mod words;

/// Counts bytes, so that a script's memory limit holds, and allocations.
#[global_allocator]
static ALLOCATOR: allocations::Counting<Counted<System>> = allocations::Counting(Counted(System));
