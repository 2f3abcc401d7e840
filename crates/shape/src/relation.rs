//! Comparisons of two numbers.

/// A comparison of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Relation {
    /// All of them.
    pub const ALL: [Relation; 6] = [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge];

    /// Its name in Python's `operator` module.
    pub fn operator(self) -> &'static str {
        match self {
            Relation::Eq => "eq",
            Relation::Ne => "ne",
            Relation::Lt => "lt",
            Relation::Le => "le",
            Relation::Gt => "gt",
            Relation::Ge => "ge",
        }
    }

    /// A condition as PyTorch prints it.
    pub fn condition(self, left: &dyn std::fmt::Display, right: &dyn std::fmt::Display) -> String {
        match self {
            Relation::Eq => format!("Eq({left}, {right})"),
            Relation::Ne => format!("Ne({left}, {right})"),
            _ => format!("{left} {} {right}", self.text()),
        }
    }

    /// Whether it holds between two numbers.
    pub fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Relation::Eq => a == b,
            Relation::Ne => a != b,
            Relation::Lt => a < b,
            Relation::Le => a <= b,
            Relation::Gt => a > b,
            Relation::Ge => a >= b,
        }
    }

    /// The relation that holds exactly where this one does not.
    pub fn negated(self) -> Relation {
        match self {
            Relation::Eq => Relation::Ne,
            Relation::Ne => Relation::Eq,
            Relation::Lt => Relation::Ge,
            Relation::Le => Relation::Gt,
            Relation::Gt => Relation::Le,
            Relation::Ge => Relation::Lt,
        }
    }

    /// The relation of the sides the other way round.
    pub fn flipped(self) -> Relation {
        match self {
            Relation::Lt => Relation::Gt,
            Relation::Le => Relation::Ge,
            Relation::Gt => Relation::Lt,
            Relation::Ge => Relation::Le,
            same => same,
        }
    }

    /// As Python writes it.
    pub fn text(self) -> &'static str {
        match self {
            Relation::Eq => "==",
            Relation::Ne => "!=",
            Relation::Lt => "<",
            Relation::Le => "<=",
            Relation::Gt => ">",
            Relation::Ge => ">=",
        }
    }
}
