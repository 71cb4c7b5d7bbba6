//! YAML text to a value that knows where each of its parts was written.
//!
//! Scalars mean what the core schema of YAML 1.2 says (chapter 10.3): `no` and `on` are text, `null`, `true` and numbers are not.

use std::collections::HashMap;

use jobgate_adapter_api::{Place, Segment};
use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::Diagnostic;

/// Nodes that aliases may add up to, so that a small text cannot grow without end.
const MOST_NODES: usize = 200_000;

/// A place in the text, both numbers from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Spot {
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    fn of(span: Span) -> Self {
        Self { line: span.start.line().max(1), column: span.start.col() + 1 }
    }
}

/// The text is no YAML.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) spot: Spot,
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
}

/// A text that has been read.
#[derive(Debug)]
pub(crate) struct Document {
    /// What it says.
    pub(crate) value: Value,
    spots: HashMap<String, Spot>,
}

impl Document {
    /// Reads `text`. Keys that are written twice and the like are noted in `problems`; the first one counts.
    pub(crate) fn read(text: &str, problems: &mut Vec<Diagnostic>) -> Result<Self, SyntaxError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader { events: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 };
        let root = reader.document()?;
        let mut document = Self { value: Value::Null, spots: HashMap::new() };
        document.value = document.flatten(root, &Place::root(), problems);
        Ok(document)
    }

    /// Where `place` was written: its key, or the nearest part around it that was written at all.
    pub(crate) fn spot(&self, place: &Place) -> Spot {
        let mut steps = place.segments();
        loop {
            if let Some(spot) = self.spots.get(&pointer(steps)) {
                return *spot;
            }
            match steps.split_last() {
                Some((_, outer)) => steps = outer,
                None => return Spot::START,
            }
        }
    }

    fn flatten(&mut self, node: Node, place: &Place, problems: &mut Vec<Diagnostic>) -> Value {
        self.spots.entry(pointer(place.segments())).or_insert(node.spot);
        match node.kind {
            Kind::Scalar(value) => value,
            Kind::Problem { message, hint } => {
                problems.push(Diagnostic::at(node.spot, place, message, Some(hint.to_owned())));
                Value::Null
            }
            Kind::List(items) => {
                let items = items.into_iter().enumerate();
                Value::Array(items.map(|(nth, item)| self.flatten(item, &place.index(nth), problems)).collect())
            }
            Kind::Mapping(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for Entry { key, spot, node } in entries {
                    let inner = place.key(&key);
                    if let Some(first) = self.spots.get(&pointer(inner.segments())).copied() {
                        let message = format!("the key `{key}` was already written at line {}", first.line);
                        problems.push(Diagnostic::at(spot, &inner, message, Some("keep one of the two".to_owned())));
                        continue;
                    }
                    // Mappings and lists are told at their key, scalars at the value.
                    if matches!(node.kind, Kind::List(_) | Kind::Mapping(_)) {
                        self.spots.insert(pointer(inner.segments()), spot);
                    }
                    self.spots.insert(key_pointer(&inner), spot);
                    let value = self.flatten(node, &inner, problems);
                    map.insert(key, value);
                }
                Value::Object(map)
            }
        }
    }

    /// Where the key of `place` was written.
    pub(crate) fn key_spot(&self, place: &Place) -> Spot {
        self.spots.get(&key_pointer(place)).copied().unwrap_or_else(|| self.spot(place))
    }
}

/// RFC 6901.
fn pointer(steps: &[Segment]) -> String {
    steps.iter().fold(String::new(), |mut text, step| {
        text.push('/');
        match step {
            Segment::Key(key) => text.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => text.push_str(&index.to_string()),
        }
        text
    })
}

fn key_pointer(place: &Place) -> String {
    format!("key {}", pointer(place.segments()))
}

#[derive(Clone, Debug)]
struct Node {
    spot: Spot,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Scalar(Value),
    List(Vec<Node>),
    Mapping(Vec<Entry>),
    Problem { message: String, hint: &'static str },
}

#[derive(Clone, Debug)]
struct Entry {
    key: String,
    spot: Spot,
    node: Node,
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), SyntaxError> {
        loop {
            match self.events.next() {
                // Other features of the YAML crate may bring further events that carry no data.
                Some(Ok((event, _))) if !event.is_node() && !is_structure(&event) => {}
                Some(Ok(found)) => return Ok(found),
                Some(Err(error)) => return Err(syntax(&error)),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn document(&mut self) -> Result<Node, SyntaxError> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => break,
                (Event::DocumentStart(..), span) if root.is_some() => {
                    return Err(SyntaxError {
                        spot: Spot::of(span),
                        message: "a configuration is one YAML document, and here a second one begins".to_owned(),
                        hint: Some("remove the `---` line, or put the rest into a file of its own"),
                    });
                }
                (event, span) if event.is_node() => root = Some(self.node(event, span)?),
                _ => {}
            }
        }
        Ok(root.unwrap_or(Node { spot: Spot::START, kind: Kind::Scalar(Value::Null) }))
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, SyntaxError> {
        let spot = Spot::of(span);
        self.nodes += 1;
        let (kind, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let kind = match tag.as_deref() {
                    None => Kind::Scalar(scalar(&text, style)),
                    Some(tag) if tag.core_suffix() == Some("str") => Kind::Scalar(Value::String(text.into_owned())),
                    Some(_) => Kind::Problem {
                        message: "YAML tags (`!...`) have no meaning here".to_owned(),
                        hint: "leave the tag out; quote a text that begins with `!`",
                    },
                };
                (kind, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, span) => items.push(self.node(event, span)?),
                    }
                }
                (Kind::List(items), anchor)
            }
            Event::MappingStart(_, anchor, _) => (self.mapping()?, anchor),
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned().ok_or_else(|| SyntaxError {
                    spot,
                    message: "this alias is used inside its own anchor".to_owned(),
                    hint: None,
                })?;
                self.nodes += count(&node);
                (node.kind, 0)
            }
            _ => (Kind::Scalar(Value::Null), 0),
        };
        if self.nodes > MOST_NODES {
            return Err(SyntaxError {
                spot,
                message: format!("the configuration has more than {MOST_NODES} parts, aliases included"),
                hint: None,
            });
        }
        let node = Node { spot, kind };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn mapping(&mut self) -> Result<Kind, SyntaxError> {
        let mut entries = Vec::new();
        let mut problem = None;
        loop {
            let (event, span) = match self.next()? {
                (Event::MappingEnd, _) => break,
                found => found,
            };
            let spot = Spot::of(span);
            let key = match event {
                Event::Scalar(text, ..) => Some(text.into_owned()),
                other => {
                    self.node(other, span)?;
                    None
                }
            };
            let (event, span) = self.next()?;
            let node = self.node(event, span)?;
            match key {
                Some(key) => entries.push(Entry { key, spot, node }),
                None => {
                    problem = Some(Kind::Problem {
                        message: "a key has to be text, and here it is a mapping or a list".to_owned(),
                        hint: "a text that begins with `{` or `[` has to be quoted, for example \"{{ arguments.name }}\"",
                    });
                }
            }
        }
        Ok(problem.unwrap_or(Kind::Mapping(entries)))
    }
}

const fn is_structure(event: &Event<'_>) -> bool {
    matches!(event, Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd | Event::SequenceEnd | Event::MappingEnd)
}

fn count(node: &Node) -> usize {
    match &node.kind {
        Kind::Scalar(_) | Kind::Problem { .. } => 1,
        Kind::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Kind::Mapping(entries) => 1 + entries.iter().map(|entry| count(&entry.node)).sum::<usize>(),
    }
}

/// The core schema, YAML 1.2.2 section 10.3.2.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return u64::from_str_radix(digits, radix).ok().map(Number::from);
        }
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !unsigned.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let exact = text.strip_prefix('+').unwrap_or(text);
        if let Ok(whole) = exact.parse::<i64>().map(Number::from).or_else(|_| exact.parse::<u64>().map(Number::from)) {
            return Some(whole);
        }
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

fn syntax(error: &ScanError) -> SyntaxError {
    let at = error.marker();
    let hint = match error.kind() {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation => Some("indent with spaces; YAML forbids tabs there"),
        ErrorKind::UnknownAnchor => Some("define the anchor with `&name` before `*name`; quote a text that begins with `*`"),
        ErrorKind::UnexpectedCharacter { .. } => {
            Some("quote a text that begins with a special character, for example \"@name\" or \"%d\"")
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::ExpectedBlockMappingKey => Some(
            "write `key: value`; lines of one mapping begin in the same column; quote a text that contains `: ` or begins with `{`",
        ),
        _ => None,
    };
    SyntaxError { spot: Spot { line: at.line().max(1), column: at.col() + 1 }, message: error.kind().to_string(), hint }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Value {
        let mut problems = Vec::new();
        let document = Document::read(text, &mut problems).unwrap();
        assert_eq!(problems, []);
        document.value
    }

    /// YAML 1.2: only the core schema's words are more than text.
    #[test]
    fn scalars_mean_what_the_core_schema_says() {
        assert_eq!(
            read("[no, on, 'true', true, 1, -2, 0x1F, 1.5, 1e3, ~, null, 18446744073709551615, 1.2.3, 12h, .5, '', +3, 08]"),
            json!([
                "no",
                "on",
                "true",
                true,
                1,
                -2,
                31,
                1.5,
                1000.0,
                null,
                null,
                18_446_744_073_709_551_615_u64,
                "1.2.3",
                "12h",
                0.5,
                "",
                3,
                8
            ])
        );
    }

    #[test]
    fn aliases_are_copies_and_cannot_grow_without_end() {
        assert_eq!(read("a: &x {b: 1}\nc: *x\n"), json!({"a": {"b": 1}, "c": {"b": 1}}));
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for nth in 1..10 {
            let before = format!("*a{},", nth - 1).repeat(10);
            bomb.push_str(&format!("a{nth}: &a{nth} [{before}]\n"));
        }
        assert!(Document::read(&bomb, &mut Vec::new()).unwrap_err().message.contains("parts"));
    }

    #[test]
    fn every_part_knows_where_it_was_written() {
        let document = Document::read("a:\n  b: 1\n  c: [x, {d: 2}]\n", &mut Vec::new()).unwrap();
        let at = |place: Place| {
            let spot = document.spot(&place);
            (spot.line, spot.column)
        };
        let a = Place::root().key("a");
        assert_eq!(at(a.clone()), (1, 1));
        assert_eq!(at(a.key("b")), (2, 6));
        assert_eq!(document.key_spot(&a.key("b")), Spot { line: 2, column: 3 });
        assert_eq!(at(a.key("c").index(1).key("d")), (3, 14));
        assert_eq!(at(a.key("missing").key("deeper")), (1, 1));
    }
}
