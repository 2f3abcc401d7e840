//! Packages that are no part of this project and that a script may import all the same (`packages.txt`): `scripts/packages.py` fetches
//! them, as one text each. Natively what was fetched is in the binary; the page fetches one when a script first imports it.
//!
//! Their files are compiled in each run that imports them, as the visitor's own are: graphs and tracebacks show their lines.

include!(concat!(env!("OUT_DIR"), "/packages.rs"));

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::files::ModulePath;

/// Where they seem to lie.
pub(super) const FOLDER: &str = "site-packages";

thread_local! {
    static FETCHED: RefCell<HashMap<&'static str, Rc<ModulePath>>> = RefCell::default();
}

/// What is kept of a package.
#[derive(serde::Deserialize)]
struct Package {
    files: BTreeMap<String, String>,
}

/// The package that a module belongs to: nothing where it is none of these, or a sentence that says why it is not to be had.
pub(super) fn of_module(name: &str) -> Option<Result<Rc<ModulePath>, String>> {
    let top = name.split('.').next()?;
    let name = *NAMES.iter().find(|known| **known == top)?;
    if let Some(known) = FETCHED.with_borrow(|fetched| fetched.get(name).cloned()) {
        return Some(Ok(known));
    }
    let made = text(name).and_then(|text| {
        let package: Package = serde_json::from_slice(&text).map_err(|error| format!("the package '{name}' cannot be read: {error}"))?;
        let mut files = ModulePath::default();
        files.add(FOLDER, package.files);
        Ok(Rc::new(files))
    });
    if let Ok(made) = &made {
        FETCHED.with_borrow_mut(|fetched| fetched.insert(name, made.clone()));
    }
    Some(made)
}

#[cfg(not(target_arch = "wasm32"))]
fn text(name: &str) -> Result<Vec<u8>, String> {
    let found = TEXTS.iter().find(|(known, _)| *known == name);
    let absent = || format!("this program was built without the package '{name}': `python3 scripts/packages.py` fetches it before a build");
    found.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(absent)
}

#[cfg(target_arch = "wasm32")]
pub use source::set_packages;
#[cfg(target_arch = "wasm32")]
use source::text;

/// Where the page's packages come from.
#[cfg(target_arch = "wasm32")]
mod source {
    use std::cell::RefCell;

    type Source = Box<dyn Fn(&str) -> Result<Vec<u8>, String>>;

    thread_local! {
        static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
    }

    /// Says where packages come from, by name: a text, or a sentence that says why it is not to be had.
    pub fn set_packages(source: Source) {
        SOURCE.set(Some(source));
    }

    pub(super) fn text(name: &str) -> Result<Vec<u8>, String> {
        let none = || Err(format!("nothing gives the package '{name}'"));
        SOURCE.with_borrow(|source| source.as_ref().map_or_else(none, |source| source(name)))
    }
}

/// Whether this program holds a package.
#[cfg(not(target_arch = "wasm32"))]
pub fn has_package(name: &str) -> bool {
    TEXTS.iter().any(|(known, _)| *known == name)
}
