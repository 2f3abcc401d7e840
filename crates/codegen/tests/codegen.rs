//! Kernels beside what they stand for: functions beside exact ones, WebAssembly beside tiles, fused graphs beside graphs that run call
//! by call.

mod codegen {
    mod functions;
    mod graphs;
    mod modules;
    mod random;
}
