//! Operators with their kernels and derivatives: beside what PyTorch answers, against differences, against index arithmetic.

mod answers;
mod calls;
mod derivatives;
mod draws;
mod gradcheck;
mod hostile;
mod indexing;
mod names;
mod printing;
mod recorded;
mod views;
