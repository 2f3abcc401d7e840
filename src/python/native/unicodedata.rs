//! `unicodedata`, as far as scripts clean text with it: normal forms, categories and combining classes of characters.

pub(super) use module::module_def;

#[pymodule(name = "unicodedata")]
mod module {
    use icu_properties::props::{EnumeratedProperty, GeneralCategory, NamedEnumeratedProperty};
    use rustpython_unicode::{NormalizeForm, Ucd};
    use rustpython_vm::{PyResult, VirtualMachine, builtins::PyStrRef};

    fn only(function: &str, text: &PyStrRef, vm: &VirtualMachine) -> PyResult<char> {
        let text = text.as_wtf8().to_string_lossy();
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(vm.new_type_error(format!(
                "{function}(): argument must be a unicode character, not a string of length {}",
                text.chars().count()
            ))),
        }
    }

    fn form(name: &PyStrRef, vm: &VirtualMachine) -> PyResult<NormalizeForm> {
        let name = name.as_wtf8().to_string_lossy();
        name.parse().map_err(|()| vm.new_value_error("invalid normalization form"))
    }

    /// The text in a normal form: `NFC`, `NFD`, `NFKC`, `NFKD`.
    #[pyfunction]
    fn normalize(form: PyStrRef, text: PyStrRef, vm: &VirtualMachine) -> PyResult<String> {
        let form = self::form(&form, vm)?;
        Ok(rustpython_unicode::normalize(form, text.as_wtf8()).to_string_lossy().into_owned())
    }

    /// Whether the text is in a normal form.
    #[pyfunction]
    fn is_normalized(form: PyStrRef, text: PyStrRef, vm: &VirtualMachine) -> PyResult<bool> {
        Ok(rustpython_unicode::is_normalized(self::form(&form, vm)?, text.as_wtf8()))
    }

    /// The general category of a character: `Lu`, `Mn`, ...
    #[pyfunction]
    fn category(character: PyStrRef, vm: &VirtualMachine) -> PyResult<String> {
        Ok(GeneralCategory::for_char(only("category", &character, vm)?).short_name().to_owned())
    }

    /// The canonical combining class of a character; 0 where it has none.
    #[pyfunction]
    fn combining(character: PyStrRef, vm: &VirtualMachine) -> PyResult<u8> {
        Ok(Ucd::new(true).combining(only("combining", &character, vm)?.into()))
    }

    /// The character of a name.
    #[pyfunction]
    fn lookup(name: PyStrRef, vm: &VirtualMachine) -> PyResult<String> {
        let name = name.as_wtf8().to_string_lossy();
        rustpython_unicode::lookup_character(&name)
            .map(String::from)
            .ok_or_else(|| vm.new_key_error(vm.ctx.new_str(format!("undefined character name '{name}'")).into()))
    }
}
