//! The names of Unicode's characters, in the interface of `unicode_names2` 3 as far as the interpreter asks it: [`name`] and
//! [`character`].
//!
//! That crate answers from tables that need no preparation and weigh half a megabyte; the page fetches them with the
//! interpreter, and few scripts ever name a character. Here the names are a text that compresses to a fifth of it
//! (`names.txt`, written by `write.mjs`), read at the first question into a table of a few megabytes.
//!
//! Lines of `names.txt`: in its first paragraph one for each named character in order of code point, or `+HEX` where so many
//! have none; a leading digit is the number of words taken from the name before, and a final `*` stands for the code point in
//! hexadecimal digits. The second paragraph holds the ranges of unified ideographs, the third the aliases.
//!
//! Characters are found by loose matching, rule UAX44-LM2 of <https://www.unicode.org/reports/tr44/#UAX44-LM2>.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

const HANGUL_PREFIX: &str = "HANGUL SYLLABLE ";
const IDEOGRAPH_PREFIX: &str = "CJK UNIFIED IDEOGRAPH-";
const FIRST_SYLLABLE: u32 = 0xAC00;

/// Short names of the letters of a syllable: section 3.12 of the Unicode Standard.
const LEADING: [&str; 19] = ["G", "GG", "N", "D", "DD", "R", "M", "B", "BB", "S", "SS", "", "J", "JJ", "C", "K", "T", "P", "H"];
const VOWEL: [&str; 21] =
    ["A", "AE", "YA", "YAE", "EO", "E", "YEO", "YE", "O", "WA", "WAE", "OE", "YO", "U", "WEO", "WE", "WI", "YU", "EU", "YI", "I"];
const TRAILING: [&str; 28] = [
    "", "G", "GG", "GS", "N", "NJ", "NH", "D", "L", "LG", "LM", "LB", "LS", "LT", "LP", "LH", "M", "B", "BS", "S", "SS", "NG", "J", "C",
    "K", "T", "P", "H",
];
const SYLLABLES: u32 = (LEADING.len() * VOWEL.len() * TRAILING.len()) as u32;

struct Table {
    /// Names in order of their characters.
    names: Vec<(char, Box<str>)>,
    ideographs: Vec<(u32, u32)>,
    /// By the form that is matched.
    characters: HashMap<Box<str>, char>,
}

impl Table {
    fn get() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Table::read(include_str!("../names.txt")).expect("names.txt is as write.mjs writes it"))
    }

    fn read(text: &str) -> Option<Table> {
        let mut paragraphs = text.split("\n\n");
        let mut names: Vec<(char, Box<str>)> = Vec::new();
        let mut code = 0;
        let mut before = String::new();
        for line in paragraphs.next()?.lines() {
            if let Some(unnamed) = line.strip_prefix('+') {
                code += u32::from_str_radix(unnamed, 16).ok()?;
                continue;
            }
            let rest = line.strip_prefix(|c: char| c.is_ascii_digit()).unwrap_or(line);
            let shared = line[..line.len() - rest.len()].parse().unwrap_or(0);
            let kept: usize = before.split_inclusive([' ', '-']).take(shared).map(str::len).sum();
            before.truncate(kept);
            before.push_str(rest);
            let name = match before.strip_suffix('*') {
                Some(start) => format!("{start}{code:X}"),
                None => before.clone(),
            };
            names.push((char::from_u32(code)?, name.into()));
            code += 1;
        }
        let mut ideographs = Vec::new();
        for line in paragraphs.next()?.lines() {
            let (first, last) = line.split_once(' ')?;
            ideographs.push((u32::from_str_radix(first, 16).ok()?, u32::from_str_radix(last, 16).ok()?));
        }
        let mut characters = HashMap::new();
        for line in paragraphs.next()?.lines() {
            let (code, alias) = line.split_once(' ')?;
            characters.insert(matched(alias)?.into(), char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        }
        for (character, name) in &names {
            // The one name that differs from another's by a hyphen alone: it is asked for by that hyphen.
            if *character != '\u{1180}' {
                characters.insert(matched(name)?.into(), *character);
            }
        }
        Some(Table { names, ideographs, characters })
    }

    fn is_ideograph(&self, character: char) -> bool {
        self.ideographs.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(character)))
    }
}

/// The form of a name that is compared: capitals, without spaces, underscores and hyphens between letters or digits. `None`
/// if it holds what no name holds.
fn matched(name: &str) -> Option<String> {
    let bytes = name.as_bytes();
    let inside = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let mut out = String::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'_' => {}
            _ if byte.is_ascii_whitespace() => {}
            b'-' if inside(at.checked_sub(1)) && inside(Some(at + 1)) => {}
            _ if byte.is_ascii_alphanumeric() || *byte == b'-' => out.push(byte.to_ascii_uppercase().into()),
            _ => return None,
        }
    }
    Some(out)
}

/// A character's name; shown, its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of `character`, if it has one: control characters, surrogates and those for private use have none.
pub fn name(character: char) -> Option<Name> {
    let table = Table::get();
    if let Ok(at) = table.names.binary_search_by_key(&character, |(c, _)| *c) {
        return Some(Name(table.names[at].1.to_string()));
    }
    let code = u32::from(character);
    if table.is_ideograph(character) {
        return Some(Name(format!("{IDEOGRAPH_PREFIX}{code:X}")));
    }
    let syllable = code.checked_sub(FIRST_SYLLABLE).filter(|at| *at < SYLLABLES)? as usize;
    let (rest, trailing) = (syllable / TRAILING.len(), syllable % TRAILING.len());
    let (leading, vowel) = (rest / VOWEL.len(), rest % VOWEL.len());
    Some(Name(format!("{HANGUL_PREFIX}{}{}{}", LEADING[leading], VOWEL[vowel], TRAILING[trailing])))
}

/// The character called `name`, in any of the spellings that loose matching takes for the same, or by one of its aliases.
pub fn character(name: &str) -> Option<char> {
    let table = Table::get();
    let wanted = matched(name)?;
    if let Some(letters) = wanted.strip_prefix("HANGULSYLLABLE") {
        return syllable(letters);
    }
    if let Some(digits) = wanted.strip_prefix("CJKUNIFIEDIDEOGRAPH") {
        let character = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
        return Some(character).filter(|c| table.is_ideograph(*c));
    }
    let found = *table.characters.get(wanted.as_str())?;
    let spelled = name.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == '_');
    let hyphen = spelled.bytes().nth_back(1) == Some(b'-');
    Some(if found == '\u{116C}' && hyphen { '\u{1180}' } else { found })
}

/// The syllable of these letters.
fn syllable(letters: &str) -> Option<char> {
    // A leading consonant is the longest that begins the name; no vowel begins with what could lengthen one.
    let longest = |parts: &[&str], text: &str| {
        let fits = parts.iter().enumerate().filter(|(_, part)| text.starts_with(**part));
        fits.max_by_key(|(_, part)| part.len()).map(|(at, part)| (at, part.len()))
    };
    let (leading, n) = longest(&LEADING, letters)?;
    let letters = &letters[n..];
    let (vowel, n) = longest(&VOWEL, letters)?;
    let trailing = TRAILING.iter().position(|part| *part == &letters[n..])?;
    char::from_u32(FIRST_SYLLABLE + ((leading * VOWEL.len() + vowel) * TRAILING.len() + trailing) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_characters() {
        let named = |c| name(c).map(|name| name.to_string());
        assert_eq!(named('a').as_deref(), Some("LATIN SMALL LETTER A"));
        assert_eq!(named('\u{2605}').as_deref(), Some("BLACK STAR"));
        assert_eq!(named('\u{F900}').as_deref(), Some("CJK COMPATIBILITY IDEOGRAPH-F900"));
        assert_eq!(named('\u{4E00}').as_deref(), Some("CJK UNIFIED IDEOGRAPH-4E00"));
        assert_eq!(named('\u{AC01}').as_deref(), Some("HANGUL SYLLABLE GAG"));
        assert_eq!(named('\u{1F600}').as_deref(), Some("GRINNING FACE"));
        assert_eq!(named('\0'), None);
        assert_eq!(named('\u{E000}'), None);
        assert_eq!(named('\u{10FFFF}'), None);
    }

    #[test]
    fn spellings_and_aliases() {
        assert_eq!(character("latinsmalllettera"), Some('a'));
        assert_eq!(character("Black_Star"), Some('\u{2605}'));
        assert_eq!(character("BACKSPACE"), Some('\u{8}'));
        assert_eq!(character("HANGUL JUNGSEONG OE"), Some('\u{116C}'));
        assert_eq!(character("HANGUL JUNGSEONG O-E"), Some('\u{1180}'));
        assert_eq!(character("TIBETAN MARK TSA -PHRU"), Some('\u{F39}'));
        assert_eq!(character("nonsense"), None);
        assert_eq!(character("bell \u{e9}"), None);
        assert_eq!(character("CJK UNIFIED IDEOGRAPH-1"), None);
    }

    #[test]
    fn every_name_finds_its_character() {
        let mut count = 0;
        for c in (0..=0x10FFFF).filter_map(char::from_u32) {
            if let Some(name) = name(c) {
                count += 1;
                assert_eq!(character(&name.to_string()), Some(c), "{name}");
            }
        }
        assert!(count > 138_000, "{count}");
    }
}
