//! The interface of `unicode_names2` 1.3, which the parser asks for names of characters (`"\N{BULLET}"`), answered by the newer
//! release that the interpreter links anyway: the table of names is a third of a megabyte as served, and is needed once.
#![no_std]

pub use newer::character;
