//! `_time`: the clocks under `time`, natively and in the browser.

pub(super) use module::module_def;

#[pymodule(name = "_time")]
mod module {
    use std::time::Duration;

    use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};
    use web_time::{Instant, SystemTime, UNIX_EPOCH};

    /// A sleep looks this often whether it should end early.
    const NAP: Duration = Duration::from_millis(10);

    std::thread_local! {
        static START: Instant = Instant::now();
    }

    /// A clock is read: a graph that is captured ends there.
    fn read(name: &str, vm: &VirtualMachine) -> PyResult<()> {
        let reason = crate::dynamo::Unsupported::clock(name);
        crate::dynamo::tracing::graph_break(&reason).map_err(|e| super::super::tensor::raise(e, vm))
    }

    fn since_start() -> Duration {
        START.with(Instant::elapsed)
    }

    fn since_epoch() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    #[pyfunction]
    fn time(vm: &VirtualMachine) -> PyResult<f64> {
        read("time", vm).map(|()| since_epoch().as_secs_f64())
    }

    #[pyfunction]
    fn time_ns(vm: &VirtualMachine) -> PyResult<u128> {
        read("time_ns", vm).map(|()| since_epoch().as_nanos())
    }

    #[pyfunction]
    fn monotonic(vm: &VirtualMachine) -> PyResult<f64> {
        read("monotonic", vm).map(|()| since_start().as_secs_f64())
    }

    #[pyfunction]
    fn monotonic_ns(vm: &VirtualMachine) -> PyResult<u128> {
        read("monotonic_ns", vm).map(|()| since_start().as_nanos())
    }

    #[pyfunction]
    fn perf_counter(vm: &VirtualMachine) -> PyResult<f64> {
        read("perf_counter", vm).map(|()| since_start().as_secs_f64())
    }

    #[pyfunction]
    fn perf_counter_ns(vm: &VirtualMachine) -> PyResult<u128> {
        read("perf_counter_ns", vm).map(|()| since_start().as_nanos())
    }

    #[pyfunction]
    fn process_time(vm: &VirtualMachine) -> PyResult<f64> {
        read("process_time", vm).map(|()| since_start().as_secs_f64())
    }

    #[pyfunction]
    fn process_time_ns(vm: &VirtualMachine) -> PyResult<u128> {
        read("process_time_ns", vm).map(|()| since_start().as_nanos())
    }

    #[pyfunction]
    fn thread_time(vm: &VirtualMachine) -> PyResult<f64> {
        read("thread_time", vm).map(|()| since_start().as_secs_f64())
    }

    #[pyfunction]
    fn thread_time_ns(vm: &VirtualMachine) -> PyResult<u128> {
        read("thread_time_ns", vm).map(|()| since_start().as_nanos())
    }

    #[pyfunction]
    fn sleep(seconds: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        crate::dynamo::tracing::leave(|| crate::dynamo::Unsupported::unknown_builtin("sleep", "time"), vm)?;
        let seconds = seconds.try_float(vm)?.to_f64();
        if seconds.is_nan() {
            return Err(vm.new_value_error("Invalid value NaN (not a number)"));
        }
        if seconds < 0.0 {
            return Err(vm.new_value_error("sleep length must be non-negative"));
        }
        let Ok(wanted) = Duration::try_from_secs_f64(seconds) else {
            return Err(vm.new_overflow_error("timestamp too large to convert to C PyTime_t"));
        };
        let start = Instant::now();
        while let Some(left) = wanted.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            // A worker in the browser cannot block; it waits by looking at the clock.
            if cfg!(not(target_arch = "wasm32")) {
                std::thread::sleep(left.min(NAP));
            }
            vm.check_signals()?;
        }
        Ok(())
    }
}
