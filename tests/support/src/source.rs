//! The repository's own files, and Rust sources as a flat list of tokens: comments and the insides of strings cannot be mistaken
//! for code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::Value;

/// The folder of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate lives two folders below the workspace").to_owned()
}

/// Every file under `folder` (relative to the workspace) that belongs to the repository, with its path relative to the workspace
/// and slashes as separators, in order. Build products and caches are left out.
#[must_use]
pub fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(&root(), &root().join(folder), &mut found);
    found.sort();
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<String>) {
    const NOT_OURS: [&str; 7] =
        [".git", ".cache", "target", "node_modules", "jobgate-data", "proptest-regressions", "__pycache__"];
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("an entry of a folder of the repository").path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let relative = path.strip_prefix(root).expect("below the workspace");
            found.push(relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/"));
        }
    }
}

/// The text of a file of the repository; `None` when it is no text.
///
/// # Panics
/// When the file cannot be read.
#[must_use]
pub fn text(relative: &str) -> Option<String> {
    let bytes = fs::read(root().join(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"));
    String::from_utf8(bytes).ok()
}

/// What cargo knows of the workspace's own packages, without a look at the network.
///
/// # Panics
/// When cargo cannot tell.
#[must_use]
pub fn cargo_metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword.
    Ident,
    /// One character of an operator.
    Punct,
    /// A literal, as it is written. A doc comment is `#[doc = LITERAL]`.
    Literal,
    /// An opening bracket of any kind.
    Open,
    /// A closing bracket of any kind.
    Close,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// How it is written.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

impl Token {
    /// Whether it is this name or keyword.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.kind == Kind::Ident && self.text == name
    }
}

/// The tokens of a Rust source, groups flattened to their brackets.
///
/// # Panics
/// When it is no Rust.
#[must_use]
pub fn tokens(source: &str) -> Vec<Token> {
    let stream: TokenStream = source.parse().unwrap_or_else(|error| panic!("not Rust: {error}"));
    let mut flat = Vec::new();
    flatten(stream, &mut flat);
    flat
}

fn flatten(stream: TokenStream, flat: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(ident) => flat.push(Token { kind: Kind::Ident, text: ident.to_string(), line }),
            TokenTree::Punct(punct) => flat.push(Token { kind: Kind::Punct, text: punct.as_char().to_string(), line }),
            TokenTree::Literal(literal) => flat.push(Token { kind: Kind::Literal, text: literal.to_string(), line }),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::None => ("", ""),
                };
                let end = group.span_close().end().line;
                flat.push(Token { kind: Kind::Open, text: open.to_owned(), line });
                flatten(group.stream(), flat);
                flat.push(Token { kind: Kind::Close, text: close.to_owned(), line: end });
            }
        }
    }
}

/// The files that `mod name;` lines lead to from a crate's root file, the root included; paths relative to the workspace.
///
/// # Panics
/// When a declared module has no file: then the crate would not compile either.
#[must_use]
pub fn reachable(root_file: &str) -> Vec<String> {
    let mut found = vec![root_file.to_owned()];
    let mut next = 0;
    while let Some(file) = found.get(next).cloned() {
        next += 1;
        let source = text(&file).unwrap_or_else(|| panic!("{file} is no text"));
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", &file));
        let own_folder = next == 1 || name == "mod.rs";
        let base = if own_folder { folder.to_owned() } else { format!("{folder}/{}", name.trim_end_matches(".rs")) };
        for declared in declared_modules(&tokens(&source)) {
            let candidates = match &declared.path {
                Some(path) => vec![format!("{folder}/{path}")],
                None => vec![format!("{base}/{}.rs", declared.name), format!("{base}/{}/mod.rs", declared.name)],
            };
            let hit = candidates.into_iter().find(|candidate| root().join(candidate).is_file());
            found.push(hit.unwrap_or_else(|| panic!("{file}: no file for `mod {};`", declared.name)));
        }
    }
    found
}

/// A `mod name;` line.
#[derive(Debug, PartialEq, Eq)]
struct Declared {
    name: String,
    path: Option<String>,
}

/// The `mod name;` lines of a file, inside inline modules too (those are given as `outer/name`).
fn declared_modules(tokens: &[Token]) -> Vec<Declared> {
    let mut declared = Vec::new();
    let mut inline: Vec<Option<String>> = Vec::new();
    let mut path = None;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => {
                let name =
                    (index >= 2 && token.text == "{" && tokens[index - 2].is("mod")).then(|| tokens[index - 1].text.clone());
                inline.push(name);
            }
            Kind::Close => {
                inline.pop();
            }
            Kind::Ident if token.text == "path" && tokens.get(index + 1).is_some_and(|next| next.text == "=") => {
                path = tokens.get(index + 2).map(|literal| literal.text.trim_matches('"').to_owned());
            }
            Kind::Ident if token.text == "mod" && tokens.get(index + 2).is_some_and(|next| next.text == ";") => {
                let outer = inline.iter().flatten().map(|name| format!("{name}/")).collect::<String>();
                declared.push(Declared { name: format!("{outer}{}", tokens[index + 1].text), path: path.take() });
            }
            Kind::Ident | Kind::Punct | Kind::Literal => {}
        }
    }
    declared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_no_code() {
        let source = "/// thread::sleep\nfn f() { /* todo!() */ g(\"dbg!\"); }";
        let names: Vec<String> =
            tokens(source).into_iter().filter(|token| token.kind == Kind::Ident).map(|token| token.text).collect();
        assert_eq!(names, ["doc", "fn", "f", "g"]);
    }

    #[test]
    fn a_token_knows_its_line() {
        let line = tokens("fn a() {}\n\nfn b() {}").iter().find(|token| token.is("b")).expect("b").line;
        assert_eq!(line, 3);
    }

    #[test]
    fn module_lines_are_found_and_bodies_are_not() {
        let declared = declared_modules(&tokens("mod a; pub mod b { mod c; } #[path = \"x/d.rs\"] mod d; mod e {}"));
        let names: Vec<(&str, Option<&str>)> = declared.iter().map(|it| (it.name.as_str(), it.path.as_deref())).collect();
        assert_eq!(names, [("a", None), ("b/c", None), ("d", Some("x/d.rs"))]);
    }
}
