//! The place in the script that messages end with.

use crate::dynamo::settings::switch;
use crate::span::Source;

/// How Dynamo ends every message.
const VERBOSE: &str = "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to PyTorch). For even more developer context, set TORCH_LOGS=\"+dynamo\"";

/// Where in the script, as Dynamo ends its messages.
pub fn from_user_code(source: Option<&Source>) -> String {
    source.map_or_else(String::new, |s| {
        let marks = s.marks().map_or_else(String::new, |m| format!("\n    {m}"));
        let hint = if switch("verbose") { String::new() } else { format!("\n{VERBOSE}\n") };
        format!("\n\nfrom user code:\n   File \"{}\", line {}, in {}\n    {}{marks}\n{hint}", s.file, s.line(), s.function, s.code)
    })
}
