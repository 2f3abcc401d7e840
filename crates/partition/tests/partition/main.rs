//! The partitioners, beside what PyTorch partitioned and by what holds of every partition.

mod op_sets;
mod random;
mod random_graph;
mod recorded;
mod steps;
