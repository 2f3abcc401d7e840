//! `math`: CPython's functions, by `pymath`.

pub(super) use module::module_def;

use pymath::Error;
use rustpython_vm::builtins::PyBaseExceptionRef;
use rustpython_vm::{PyResult, VirtualMachine};

fn exception(error: Error, vm: &VirtualMachine) -> PyBaseExceptionRef {
    match error {
        Error::EDOM => vm.new_value_error("math domain error"),
        Error::ERANGE => vm.new_overflow_error("math range error"),
    }
}

/// Raises what `math` raises.
fn check<T>(result: Result<T, Error>, vm: &VirtualMachine) -> PyResult<T> {
    result.map_err(|error| exception(error, vm))
}

#[pymodule(name = "math")]
mod module {
    use malachite_bigint::BigInt;
    use pymath::math as m;
    use rustpython_vm::{
        AsObject, FromArgs, PyObjectRef, PyResult, TryFromObject, VirtualMachine,
        builtins::{PyInt, PyIntRef, try_f64_to_bigint},
        function::{ArgIndex, ArgIterable, OptionalArg, PosArgs},
    };

    use super::check;

    /// A number as a float; a symbolic one is that number from now on.
    struct ArgIntoFloat(f64);

    impl ArgIntoFloat {
        fn into_float(self) -> f64 {
            self.0
        }
    }

    fn floats(numbers: Vec<ArgIntoFloat>) -> Vec<f64> {
        numbers.into_iter().map(ArgIntoFloat::into_float).collect()
    }

    impl TryFromObject for ArgIntoFloat {
        fn try_from_object(vm: &VirtualMachine, object: PyObjectRef) -> PyResult<Self> {
            if let Some(number) = crate::python::native::tensor::guarded_number(&object, vm)? {
                return Ok(ArgIntoFloat(number));
            }
            rustpython_vm::function::ArgIntoFloat::try_from_object(vm, object).map(|x| ArgIntoFloat(x.into_float()))
        }
    }

    /// A function that symbolic numbers have, too.
    fn function(name: &str, x: PyObjectRef, of_float: fn(f64) -> pymath::Result<f64>, vm: &VirtualMachine) -> PyResult {
        if let Some(made) = crate::python::native::tensor::function_of_number(name, &x, vm)? {
            return Ok(made);
        }
        let x: ArgIntoFloat = x.try_into_value(vm)?;
        Ok(vm.ctx.new_float(check(of_float(x.into_float()), vm)?).into())
    }

    #[pyattr(name = "e")]
    const E: f64 = std::f64::consts::E;
    #[pyattr(name = "pi")]
    const PI: f64 = std::f64::consts::PI;
    #[pyattr(name = "tau")]
    const TAU: f64 = std::f64::consts::TAU;
    #[pyattr(name = "inf")]
    const INF: f64 = f64::INFINITY;
    #[pyattr(name = "nan")]
    const NAN: f64 = f64::NAN;

    #[pyfunction]
    fn fabs(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::fabs(x.into_float()), vm)
    }

    #[pyfunction]
    fn exp(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::exp(x.into_float()), vm)
    }

    #[pyfunction]
    fn exp2(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::exp2(x.into_float()), vm)
    }

    #[pyfunction]
    fn expm1(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::expm1(x.into_float()), vm)
    }

    #[pyfunction]
    fn log1p(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::log1p(x.into_float()), vm)
    }

    #[pyfunction]
    fn sqrt(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("sqrt", x, m::sqrt, vm)
    }

    #[pyfunction]
    fn cbrt(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::cbrt(x.into_float()), vm)
    }

    #[pyfunction]
    fn acos(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("acos", x, m::acos, vm)
    }

    #[pyfunction]
    fn asin(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("asin", x, m::asin, vm)
    }

    #[pyfunction]
    fn atan(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("atan", x, m::atan, vm)
    }

    #[pyfunction]
    fn cos(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("cos", x, m::cos, vm)
    }

    #[pyfunction]
    fn sin(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("sin", x, m::sin, vm)
    }

    #[pyfunction]
    fn tan(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("tan", x, m::tan, vm)
    }

    #[pyfunction]
    fn acosh(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::acosh(x.into_float()), vm)
    }

    #[pyfunction]
    fn asinh(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::asinh(x.into_float()), vm)
    }

    #[pyfunction]
    fn atanh(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::atanh(x.into_float()), vm)
    }

    #[pyfunction]
    fn cosh(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("cosh", x, m::cosh, vm)
    }

    #[pyfunction]
    fn sinh(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("sinh", x, m::sinh, vm)
    }

    #[pyfunction]
    fn tanh(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        function("tanh", x, m::tanh, vm)
    }

    #[pyfunction]
    fn erf(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::erf(x.into_float()), vm)
    }

    #[pyfunction]
    fn erfc(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::erfc(x.into_float()), vm)
    }

    #[pyfunction]
    fn gamma(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::gamma(x.into_float()), vm)
    }

    #[pyfunction]
    fn lgamma(x: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::lgamma(x.into_float()), vm)
    }

    #[pyfunction]
    fn copysign(x: ArgIntoFloat, y: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::copysign(x.into_float(), y.into_float()), vm)
    }

    #[pyfunction]
    fn pow(x: ArgIntoFloat, y: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::pow(x.into_float(), y.into_float()), vm)
    }

    #[pyfunction]
    fn atan2(x: ArgIntoFloat, y: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::atan2(x.into_float(), y.into_float()), vm)
    }

    #[pyfunction]
    fn fmod(x: ArgIntoFloat, y: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::fmod(x.into_float(), y.into_float()), vm)
    }

    #[pyfunction]
    fn remainder(x: ArgIntoFloat, y: ArgIntoFloat, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::remainder(x.into_float(), y.into_float()), vm)
    }

    #[pyfunction]
    fn isfinite(x: ArgIntoFloat) -> bool {
        x.into_float().is_finite()
    }

    #[pyfunction]
    fn isinf(x: ArgIntoFloat) -> bool {
        x.into_float().is_infinite()
    }

    #[pyfunction]
    fn isnan(x: ArgIntoFloat) -> bool {
        x.into_float().is_nan()
    }

    #[pyfunction]
    fn degrees(x: ArgIntoFloat) -> f64 {
        m::degrees(x.into_float())
    }

    #[pyfunction]
    fn radians(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        // Dynamo traces it as a product: a symbolic number stays one.
        if crate::python::native::tensor::symbolic_float(&x, vm).is_some() || crate::python::native::tensor::symbolic(&x, vm).is_some() {
            return vm._mul(vm.ctx.new_float(PI / 180.0).as_object(), &x);
        }
        let x: ArgIntoFloat = x.try_into_value(vm)?;
        Ok(vm.ctx.new_float(m::radians(x.into_float())).into())
    }

    #[pyfunction]
    fn ulp(x: ArgIntoFloat) -> f64 {
        m::ulp(x.into_float())
    }

    #[pyfunction]
    fn frexp(x: ArgIntoFloat) -> (f64, i32) {
        m::frexp(x.into_float())
    }

    #[pyfunction]
    fn modf(x: ArgIntoFloat) -> (f64, f64) {
        m::modf(x.into_float())
    }

    #[pyfunction]
    fn ldexp(x: ArgIntoFloat, exponent: PyIntRef, vm: &VirtualMachine) -> PyResult<f64> {
        check(m::ldexp_bigint(x.into_float(), exponent.as_bigint()), vm)
    }

    #[pyfunction]
    fn nextafter(x: ArgIntoFloat, y: ArgIntoFloat) -> f64 {
        m::nextafter(x.into_float(), y.into_float(), None)
    }

    #[derive(FromArgs)]
    struct IsCloseArgs {
        #[pyarg(any)]
        a: ArgIntoFloat,
        #[pyarg(any)]
        b: ArgIntoFloat,
        #[pyarg(named, optional)]
        rel_tol: OptionalArg<ArgIntoFloat>,
        #[pyarg(named, optional)]
        abs_tol: OptionalArg<ArgIntoFloat>,
    }

    #[pyfunction]
    fn isclose(args: IsCloseArgs, vm: &VirtualMachine) -> PyResult<bool> {
        let tolerance = |given: OptionalArg<ArgIntoFloat>| given.into_option().map(ArgIntoFloat::into_float);
        m::isclose(args.a.into_float(), args.b.into_float(), tolerance(args.rel_tol), tolerance(args.abs_tol))
            .map_err(|_| vm.new_value_error("tolerances must be non-negative"))
    }

    #[pyfunction]
    fn log(x: PyObjectRef, base: OptionalArg<ArgIntoFloat>, vm: &VirtualMachine) -> PyResult<f64> {
        let base = base.into_option().map(ArgIntoFloat::into_float);
        if base == Some(1.0) {
            return Err(vm.new_zero_division_error("float division by zero"));
        }
        match x.downcast_ref::<PyInt>() {
            Some(number) => check(m::log_bigint(number.as_bigint(), base), vm),
            None => check(m::log(x.try_float(vm)?.to_f64(), base), vm),
        }
    }

    #[pyfunction]
    fn log2(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        if let Some(made) = crate::python::native::tensor::function_of_number("log2", &x, vm)? {
            return Ok(made);
        }
        let found = match x.downcast_ref::<PyInt>() {
            Some(number) => check(m::log2_bigint(number.as_bigint()), vm),
            None => check(m::log2(x.try_float(vm)?.to_f64()), vm),
        };
        Ok(vm.ctx.new_float(found?).into())
    }

    #[pyfunction]
    fn log10(x: PyObjectRef, vm: &VirtualMachine) -> PyResult<f64> {
        match x.downcast_ref::<PyInt>() {
            Some(number) => check(m::log10_bigint(number.as_bigint()), vm),
            None => check(m::log10(x.try_float(vm)?.to_f64()), vm),
        }
    }

    #[pyfunction]
    fn hypot(coordinates: PosArgs<ArgIntoFloat>) -> f64 {
        m::hypot(&floats(coordinates.into_vec()))
    }

    #[pyfunction]
    fn dist(p: Vec<ArgIntoFloat>, q: Vec<ArgIntoFloat>, vm: &VirtualMachine) -> PyResult<f64> {
        if p.len() != q.len() {
            return Err(vm.new_value_error("both points must have the same number of dimensions"));
        }
        Ok(m::dist(&floats(p), &floats(q)))
    }

    #[pyfunction]
    fn fsum(values: ArgIterable<ArgIntoFloat>, vm: &VirtualMachine) -> PyResult<f64> {
        let values = values.iter(vm)?.map(|value| value.map(ArgIntoFloat::into_float)).collect::<PyResult<Vec<f64>>>()?;
        check(m::fsum(values), vm)
    }

    #[derive(FromArgs)]
    struct ProdArgs {
        #[pyarg(positional)]
        iterable: ArgIterable<PyObjectRef>,
        #[pyarg(named, optional)]
        start: OptionalArg<PyObjectRef>,
    }

    #[pyfunction]
    fn prod(args: ProdArgs, vm: &VirtualMachine) -> PyResult {
        let mut product = args.start.into_option().unwrap_or_else(|| vm.ctx.new_int(1).into());
        for item in args.iterable.iter(vm)? {
            product = vm._mul(&product, &*item?)?;
        }
        Ok(product)
    }

    #[pyfunction]
    fn sumprod(p: ArgIterable<PyObjectRef>, q: ArgIterable<PyObjectRef>, vm: &VirtualMachine) -> PyResult {
        let mut total: PyObjectRef = vm.ctx.new_int(0).into();
        let (mut p, mut q) = (p.iter(vm)?, q.iter(vm)?);
        loop {
            match (p.next().transpose()?, q.next().transpose()?) {
                (Some(a), Some(b)) => total = vm._add(&total, &*vm._mul(&a, &b)?)?,
                (None, None) => return Ok(total),
                _ => return Err(vm.new_value_error("Inputs are not the same length")),
            }
        }
    }

    /// Rounds by `x`'s own method, or as a float.
    fn round_by(x: &PyObjectRef, method: &'static str, round: fn(f64) -> f64, vm: &VirtualMachine) -> PyResult {
        if x.class().has_attr(vm.ctx.intern_str(method)) {
            return vm.call_method(x, method, ());
        }
        match x.try_float_opt(vm) {
            Some(number) => Ok(vm.ctx.new_int(try_f64_to_bigint(round(number?.to_f64()), vm)?).into()),
            None => Err(vm.new_type_error(format!("must be real number, not {}", x.class().name()))),
        }
    }

    #[pyfunction]
    fn ceil(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        round_by(&x, "__ceil__", f64::ceil, vm)
    }

    #[pyfunction]
    fn floor(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        round_by(&x, "__floor__", f64::floor, vm)
    }

    #[pyfunction]
    fn trunc(x: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        if !x.class().has_attr(vm.ctx.intern_str("__trunc__")) {
            return Err(vm.new_type_error(format!("type {} doesn't define __trunc__ method", x.class().name())));
        }
        vm.call_method(&x, "__trunc__", ())
    }

    #[pyfunction]
    fn isqrt(n: ArgIndex, vm: &VirtualMachine) -> PyResult<BigInt> {
        m::integer::isqrt(n.into_int_ref().as_bigint()).map_err(|_| vm.new_value_error("isqrt() argument must be nonnegative"))
    }

    #[pyfunction]
    fn gcd(numbers: PosArgs<ArgIndex>) -> BigInt {
        let numbers: Vec<PyIntRef> = numbers.into_vec().into_iter().map(ArgIndex::into_int_ref).collect();
        m::integer::gcd(&numbers.iter().map(|number| number.as_bigint()).collect::<Vec<_>>())
    }

    #[pyfunction]
    fn lcm(numbers: PosArgs<ArgIndex>) -> BigInt {
        let numbers: Vec<PyIntRef> = numbers.into_vec().into_iter().map(ArgIndex::into_int_ref).collect();
        m::integer::lcm(&numbers.iter().map(|number| number.as_bigint()).collect::<Vec<_>>())
    }

    /// An argument that counts something.
    fn count(n: &PyIntRef, what: &str, vm: &VirtualMachine) -> PyResult<i64> {
        let number: i64 = n.try_to_primitive(vm)?;
        if number < 0 { Err(vm.new_value_error(what.to_owned())) } else { Ok(number) }
    }

    #[pyfunction]
    fn factorial(n: ArgIndex, vm: &VirtualMachine) -> PyResult<BigInt> {
        let n = count(&n.into_int_ref(), "factorial() not defined for negative values", vm)?;
        check(m::integer::factorial(n).map(Into::into), vm)
    }

    #[pyfunction]
    fn perm(n: ArgIndex, k: OptionalArg<Option<ArgIndex>>, vm: &VirtualMachine) -> PyResult<BigInt> {
        let n = count(&n.into_int_ref(), "n must be a non-negative integer", vm)?;
        let k = match k.flatten() {
            Some(k) => count(&k.into_int_ref(), "k must be a non-negative integer", vm)?,
            None => n,
        };
        check(m::integer::perm(n, Some(k)).map(Into::into), vm)
    }

    #[pyfunction]
    fn comb(n: ArgIndex, k: ArgIndex, vm: &VirtualMachine) -> PyResult<BigInt> {
        let n = count(&n.into_int_ref(), "n must be a non-negative integer", vm)?;
        let k = count(&k.into_int_ref(), "k must be a non-negative integer", vm)?;
        check(m::integer::comb(n, k).map(Into::into), vm)
    }
}
