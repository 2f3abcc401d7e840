//! Texts that say the same, and texts that do not.

/// What says the same, and what does not.
pub fn examples() -> Vec<(&'static str, &'static str, bool)> {
    vec![
        ("loss 0.69315", "loss 0.69314", true),
        ("loss 0.69315", "loss 0.69312", false),
        ("12345.678", "12345.6", true),
        ("1.00000e+03", "1.00001e+03", true),
        ("1.0e-9", "2.0e-9", true),
        ("tensor([ 1.0, -2.0])", "tensor([1.0,  -2.0])", true),
        ("0.5 s", "0.5s", false),
        ("step 3", "step 4", false),
        ("1.0", "-1.0", false),
        ("1.0", "1", false),
        ("v1.2", "v1.3", false),
        ("a 1.0", "a 1.0 2.0", false),
    ]
}
