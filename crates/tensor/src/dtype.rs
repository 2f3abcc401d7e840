//! Dtypes, devices, layouts and memory formats, with PyTorch's names and promotion rules.

use diagnostics::error::{Error, Result};
use std::fmt;

macro_rules! dtypes {
    ($($variant:ident $name:literal $short:literal $scalar:literal $size:literal $category:ident;)*) => {
        /// An element type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Dtype { $(#[doc = $name] $variant),* }
        impl Dtype {
            /// Every dtype.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant),*];
            /// `float32`
            pub fn name(self) -> &'static str { match self { $(Dtype::$variant => $name),* } }
            /// As torch.fx abbreviates it: `f32`.
            pub fn short(self) -> &'static str { match self { $(Dtype::$variant => $short),* } }
            /// As C++ messages name it: `Float`.
            pub fn scalar_type(self) -> &'static str { match self { $(Dtype::$variant => $scalar),* } }
            /// Bytes per element.
            pub fn itemsize(self) -> usize { match self { $(Dtype::$variant => $size),* } }
            /// Its kind.
            pub fn category(self) -> Category { match self { $(Dtype::$variant => Category::$category),* } }
        }
    };
}
dtypes! {
    Bool "bool" "b8" "Bool" 1 Bool;
    UInt8 "uint8" "u8" "Byte" 1 Integral;
    Int8 "int8" "i8" "Char" 1 Integral;
    Int16 "int16" "i16" "Short" 2 Integral;
    Int32 "int32" "i32" "Int" 4 Integral;
    Int64 "int64" "i64" "Long" 8 Integral;
    Float8E4m3fn "float8_e4m3fn" "f8e4m3fn" "Float8_e4m3fn" 1 Floating;
    Float8E5m2 "float8_e5m2" "f8e5m2" "Float8_e5m2" 1 Floating;
    Float16 "float16" "f16" "Half" 2 Floating;
    BFloat16 "bfloat16" "bf16" "BFloat16" 2 Floating;
    Float32 "float32" "f32" "Float" 4 Floating;
    Float64 "float64" "f64" "Double" 8 Floating;
    Complex64 "complex64" "c64" "ComplexFloat" 8 Complex;
    Complex128 "complex128" "c128" "ComplexDouble" 16 Complex;
}

/// Kinds of dtypes, from weakest to strongest in promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// `bool`
    Bool,
    /// Integers.
    Integral,
    /// Real numbers.
    Floating,
    /// Complex numbers.
    Complex,
}

impl Dtype {
    /// The C++ type of its elements, as messages about numbers that do not fit name it.
    pub fn c_name(self) -> &'static str {
        match self {
            Dtype::Bool => "bool",
            Dtype::UInt8 => "uint8_t",
            Dtype::Int8 => "int8_t",
            Dtype::Int16 => "int16_t",
            Dtype::Int32 => "int",
            Dtype::Int64 => "int64_t",
            Dtype::Float8E4m3fn => "c10::Float8_e4m3fn",
            Dtype::Float8E5m2 => "c10::Float8_e5m2",
            Dtype::Float16 => "at::Half",
            Dtype::BFloat16 => "at::BFloat16",
            Dtype::Float32 => "float",
            Dtype::Float64 => "double",
            Dtype::Complex64 => "c10::complex<float>",
            Dtype::Complex128 => "c10::complex<double>",
        }
    }
    /// float8, float16, bfloat16, float32 or float64.
    pub fn is_floating(self) -> bool {
        self.category() == Category::Floating
    }
    /// A float of 8 bits, which hardly any operator computes.
    pub fn is_float8(self) -> bool {
        matches!(self, Dtype::Float8E4m3fn | Dtype::Float8E5m2)
    }
    /// complex64 or complex128.
    pub fn is_complex(self) -> bool {
        self.category() == Category::Complex
    }
    /// An integer or bool.
    pub fn is_integral(self) -> bool {
        self.category() <= Category::Integral
    }
    /// The dtype of a name, with or without `torch.`; PyTorch's aliases (`float`, `long`, ...) too.
    pub fn parse(name: &str) -> Option<Dtype> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        let alias = match name {
            "float" => "float32",
            "double" => "float64",
            "half" => "float16",
            "long" => "int64",
            "int" => "int32",
            "short" => "int16",
            "cfloat" => "complex64",
            "cdouble" => "complex128",
            other => other,
        };
        Dtype::ALL.iter().copied().find(|d| d.name() == alias)
    }
    /// The real dtype of a complex one's parts; itself otherwise.
    pub fn to_real(self) -> Dtype {
        match self {
            Dtype::Complex64 => Dtype::Float32,
            Dtype::Complex128 => Dtype::Float64,
            d => d,
        }
    }
    /// The complex dtype whose parts are of this one.
    pub fn to_complex(self) -> Dtype {
        match self {
            Dtype::Float64 | Dtype::Complex128 => Dtype::Complex128,
            _ => Dtype::Complex64,
        }
    }
    /// Whether a result of this dtype may be written into `to` (`torch.can_cast`).
    pub fn can_cast(self, to: Dtype) -> bool {
        self.category() <= to.category()
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "torch.{}", self.name())
    }
}

/// Refuses to promote a float of 8 bits with anything else.
///
/// # Errors
/// PyTorch's.
pub fn check_promotion(a: Dtype, b: Dtype) -> Result<()> {
    if a == b || !(a.is_float8() || b.is_float8()) {
        return Ok(());
    }
    let said = "Promotion for Float8 Types is not supported, attempted to promote";
    Err(Error::runtime(format!("{said} {} and {}", a.scalar_type(), b.scalar_type())))
}

/// `torch.promote_types(a, b)`, for what [`check_promotion`] does not refuse.
pub fn promote(a: Dtype, b: Dtype) -> Dtype {
    use Dtype::*;
    if a == b {
        return a;
    }
    let (low, high) = if (a.category(), a.itemsize()) <= (b.category(), b.itemsize()) { (a, b) } else { (b, a) };
    match (low, high) {
        (UInt8, Int8) | (Int8, UInt8) => Int16,
        (Float16, BFloat16) | (BFloat16, Float16) => Float32,
        (Float64, Complex64) => Complex128,
        _ => high,
    }
}

/// Kinds of devices. Only the CPU computes; the others are pretended (fake tensors).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceType {
    /// `cpu`
    Cpu,
    /// `cuda`
    Cuda,
    /// `meta`
    Meta,
}

/// A device, with its index where one was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    /// Its kind.
    pub kind: DeviceType,
    /// Its index.
    pub index: Option<u8>,
}

impl Device {
    /// The CPU.
    pub const CPU: Device = Device { kind: DeviceType::Cpu, index: None };
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            DeviceType::Cpu => "cpu",
            DeviceType::Cuda => "cuda",
            DeviceType::Meta => "meta",
        })?;
        self.index.map_or(Ok(()), |i| write!(f, ":{i}"))
    }
}

/// `torch.layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `torch.strided`
    Strided,
}

/// `torch.memory_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryFormat {
    /// `torch.contiguous_format`
    Contiguous,
    /// `torch.preserve_format`
    Preserve,
    /// `torch.channels_last`
    ChannelsLast,
    /// `torch.channels_last_3d`
    ChannelsLast3d,
}

impl MemoryFormat {
    /// `torch.channels_last`
    pub fn name(self) -> &'static str {
        match self {
            MemoryFormat::Contiguous => "torch.contiguous_format",
            MemoryFormat::Preserve => "torch.preserve_format",
            MemoryFormat::ChannelsLast => "torch.channels_last",
            MemoryFormat::ChannelsLast3d => "torch.channels_last_3d",
        }
    }
}
