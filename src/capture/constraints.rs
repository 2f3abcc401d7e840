//! What a script said about sizes and its function did not keep: a dimension marked dynamic that turned out to be a number.

use super::region::Region;
use super::symbols::DimMark;
use crate::shape::{Relation, ShapeGuard, SymInt};

impl Region {
    /// What PyTorch says where a dimension that is marked dynamic was specialized to a number; `None` where all are kept.
    pub fn violated_constraints(&self) -> Option<String> {
        let mut names = Vec::new();
        let mut said = String::new();
        for input in &self.touched {
            for (dim, _) in input.source.marks.iter().filter(|(_, mark)| matches!(mark, DimMark::Dynamic(..))) {
                // What is no symbol to begin with is a size of zero or one.
                let Some(SymInt::Sym(symbol, _)) = input.spec.spec.geometry.sizes.get(*dim) else { continue };
                let Some(number) = self.env.simplify(symbol).as_int() else { continue };
                let name = format!("{}.size()[{dim}]", input.source.source);
                said.push_str(&format!(
                    "\n  - You marked {name} as dynamic but your code specialized it to be a constant ({number}). If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO."
                ));
                let specializes = |g: &&ShapeGuard| {
                    let both = [&g.left, &g.right];
                    g.relation == Relation::Eq && both.iter().any(|side| symbol.symbols().iter().all(|s| side.symbols().contains(s)))
                };
                if let Some(place) = self.env.guards().iter().find(specializes).and_then(|g| g.source.as_ref()) {
                    let marks = place.marks().map_or_else(String::new, |m| format!("    {m}\n"));
                    said.push_str(&format!(
                        "\n\nUser stack:\n  File \"{}\", line {}, in {}\n    {}\n{marks}\n",
                        place.file, place.span.line, place.function, place.code
                    ));
                }
                names.push(name);
            }
        }
        (!names.is_empty())
            .then(|| format!("Constraints violated ({})! For more information, run with TORCH_LOGS=\"+dynamic\".{said}", names.join(", ")))
    }
}
