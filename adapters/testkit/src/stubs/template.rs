//! Response templates of the common kind: `{{request.path.[1]}}`, `{{jsonPath request.body '$.a'}}`. Handlebars' expressions with
//! WireMock's names and helpers; a name, a helper or a block that is not here is an error when the file is loaded.

use super::helpers::{Helper, Told};

/// A text with expressions.
#[derive(Clone, Debug)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Print(Term),
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Term {
    Literal(String),
    Name(Vec<String>),
    Call { helper: Helper, arguments: Vec<Self>, options: Vec<(String, Self)> },
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            if let Some(before) = before.strip_suffix('\\') {
                pieces.push(Piece::Text(format!("{before}{{{{")));
                rest = behind;
                continue;
            }
            pieces.push(Piece::Text(before.to_owned()));
            let (open, close) = match behind {
                _ if behind.starts_with("!--") => ("!--", "--}}"),
                _ if behind.starts_with('{') => ("{", "}}}"),
                _ => ("", "}}"),
            };
            let behind = behind.strip_prefix(open).unwrap_or(behind);
            let (inside, after) = behind.split_once(close).ok_or_else(|| format!("`{{{{{open}` has no `{close}`"))?;
            rest = after;
            if open == "!--" || inside.starts_with('!') {
                continue;
            }
            if inside.trim_start().starts_with(['#', '/', '^', '>', '&', '~']) || inside.trim() == "else" {
                return Err(format!("`{{{{{inside}}}}}`: blocks and partials are not in the subset"));
            }
            pieces.push(Piece::Print(parse_term(inside).map_err(|reason| format!("`{{{{{inside}}}}}`: {reason}"))?));
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    pub(super) fn render(&self, told: &Told<'_>) -> Result<String, String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Print(term) => text.push_str(&told.value(term)?.text()),
            }
        }
        Ok(text)
    }
}

/// A sign or a word of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Open,
    Close,
    Literal(String),
    /// `a.b.[c d]`, in its steps.
    Name(Vec<String>),
    /// `name=`
    Option(String),
}

fn parse_term(text: &str) -> Result<Term, String> {
    let tokens = tokens(text)?;
    let mut rest = tokens.as_slice();
    let term = whole_call(&mut rest)?;
    if rest.is_empty() { Ok(term) } else { Err("something stands behind its end".to_owned()) }
}

/// `helper argument... option=value...`, or a single value.
fn whole_call(rest: &mut &[Token]) -> Result<Term, String> {
    let helper = match rest.first() {
        Some(Token::Name(steps)) if steps.len() == 1 => Helper::named(&steps[0]),
        _ => None,
    };
    let Some(helper) = helper else {
        let value = value(rest)?;
        return match rest.first() {
            None | Some(Token::Close) => Ok(value),
            Some(_) => Err(format!("there is no helper of that name; known are {}", Helper::KNOWN)),
        };
    };
    *rest = &rest[1..];
    let (mut arguments, mut options) = (Vec::new(), Vec::new());
    loop {
        match rest.first() {
            None | Some(Token::Close) => break,
            Some(Token::Option(name)) => {
                *rest = &rest[1..];
                options.push((name.clone(), value(rest)?));
            }
            Some(_) => arguments.push(value(rest)?),
        }
    }
    helper.check(&arguments, &options)?;
    Ok(Term::Call { helper, arguments, options })
}

fn value(rest: &mut &[Token]) -> Result<Term, String> {
    let (first, behind) = rest.split_first().ok_or("it ends too early")?;
    *rest = behind;
    match first {
        Token::Literal(text) => Ok(Term::Literal(text.clone())),
        Token::Name(steps) => match Helper::named(&steps[0]).filter(|_| steps.len() == 1) {
            Some(_) => Err(format!("the helper {} as an argument stands in brackets: ({} ...)", steps[0], steps[0])),
            None => Told::knows(steps).map(|()| Term::Name(steps.clone())),
        },
        Token::Open => {
            let inner = whole_call(rest)?;
            match rest.split_first() {
                Some((Token::Close, behind)) => {
                    *rest = behind;
                    Ok(inner)
                }
                _ => Err("a `(` has no `)`".to_owned()),
            }
        }
        Token::Close | Token::Option(_) => Err("a value is missing".to_owned()),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let behind = rest.strip_prefix(first).unwrap_or_default();
        rest = match first {
            '(' | ')' => {
                tokens.push(if first == '(' { Token::Open } else { Token::Close });
                behind
            }
            '\'' | '"' => {
                let (inside, after) = behind.split_once(first).ok_or("a text has no end")?;
                tokens.push(Token::Literal(inside.to_owned()));
                after
            }
            _ => name(rest, &mut tokens)?,
        }
        .trim_start();
    }
    Ok(tokens)
}

/// A number, a name with its steps, or the name of an option.
fn name<'a>(text: &'a str, tokens: &mut Vec<Token>) -> Result<&'a str, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        let (step, after) = match rest.strip_prefix('[') {
            Some(inside) => inside.split_once(']').ok_or("a `[` has no `]`")?,
            None => rest.split_at(rest.find([' ', '\t', '\n', '.', '=', '(', ')', '\'', '"', '[']).unwrap_or(rest.len())),
        };
        if step.is_empty() {
            return Err(format!("`{text}` is no name"));
        }
        steps.push(step.to_owned());
        match after.strip_prefix('.') {
            Some(after) => rest = after,
            None => {
                rest = after;
                break;
            }
        }
    }
    if let Some(after) = rest.strip_prefix('=') {
        tokens.push(Token::Option(steps.join(".")));
        return Ok(after);
    }
    let word = steps.join(".");
    let is_literal = word == "true" || word == "false" || word.parse::<f64>().is_ok();
    tokens.push(if is_literal { Token::Literal(word) } else { Token::Name(steps) });
    Ok(rest)
}
