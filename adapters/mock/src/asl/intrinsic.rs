//! Intrinsic functions: `States.Format('Hello {}', $.name)` and its like.
//!
//! States Language, section "Intrinsic Functions" and appendix B. Left out on purpose: `States.UUID` and `States.MathRandom`,
//! because the same job must look the same at every poll.

use serde_json::{Map, Value};

use super::path::Path;
use super::suggest;

/// A parsed call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    function: Function,
    arguments: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq)]
enum Argument {
    Literal(Value),
    Path(Path),
    Call(Call),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Format,
    StringToJson,
    JsonToString,
    Array,
    ArrayPartition,
    ArrayContains,
    ArrayRange,
    ArrayGetItem,
    ArrayLength,
    ArrayUnique,
    JsonMerge,
    MathAdd,
    StringSplit,
}

const FUNCTIONS: [(&str, Function); 13] = [
    ("States.Format", Function::Format),
    ("States.StringToJson", Function::StringToJson),
    ("States.JsonToString", Function::JsonToString),
    ("States.Array", Function::Array),
    ("States.ArrayPartition", Function::ArrayPartition),
    ("States.ArrayContains", Function::ArrayContains),
    ("States.ArrayRange", Function::ArrayRange),
    ("States.ArrayGetItem", Function::ArrayGetItem),
    ("States.ArrayLength", Function::ArrayLength),
    ("States.ArrayUnique", Function::ArrayUnique),
    ("States.JsonMerge", Function::JsonMerge),
    ("States.MathAdd", Function::MathAdd),
    ("States.StringSplit", Function::StringSplit),
];

/// The longest array that `States.ArrayRange` makes.
const LONGEST_RANGE: i64 = 1000;

/// Why a call gave nothing.
#[derive(Debug, PartialEq)]
pub(crate) enum CallError {
    /// A path in it names nothing.
    Path(String),
    /// The function cannot take these arguments.
    Arguments(String),
}

impl Call {
    /// Reads a call.
    ///
    /// # Errors
    /// A sentence that says what was not understood.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { text, rest: text };
        let call = reader.call()?;
        reader.skip_spaces();
        if reader.rest.is_empty() { Ok(call) } else { Err(reader.not_understood()) }
    }

    /// The call's value.
    ///
    /// # Errors
    /// See [`CallError`].
    pub(crate) fn evaluate(&self, input: &Value, context: &Value) -> Result<Value, CallError> {
        let mut given = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            given.push(match argument {
                Argument::Literal(value) => value.clone(),
                Argument::Path(path) => path
                    .get(input, context)
                    .ok_or_else(|| CallError::Path(format!("the path `{path}` names nothing in the data")))?,
                Argument::Call(call) => call.evaluate(input, context)?,
            });
        }
        apply(self.function, &given).ok_or_else(|| CallError::Arguments(format!("{} cannot take these arguments", self.name())))
    }

    fn name(&self) -> &'static str {
        FUNCTIONS.iter().find(|(_, function)| *function == self.function).map_or("States", |(name, _)| name)
    }
}

/// The function's value; `None` where the arguments do not fit it.
fn apply(function: Function, given: &[Value]) -> Option<Value> {
    match (function, given) {
        (Function::Format, [Value::String(template), values @ ..]) => format(template, values).map(Value::String),
        (Function::StringToJson, [Value::String(text)]) => serde_json::from_str(text).ok(),
        (Function::JsonToString, [value]) => Some(Value::String(value.to_string())),
        (Function::Array, values) => Some(values.to_vec().into()),
        (Function::ArrayPartition, [Value::Array(list), size]) => {
            let size = usize::try_from(size.as_u64()?).ok().filter(|size| *size > 0)?;
            Some(list.chunks(size).map(|chunk| Value::from(chunk.to_vec())).collect())
        }
        (Function::ArrayContains, [Value::Array(list), value]) => Some(list.contains(value).into()),
        (Function::ArrayRange, [first, last, step]) => range(first.as_i64()?, last.as_i64()?, step.as_i64()?),
        (Function::ArrayGetItem, [Value::Array(list), index]) => list.get(usize::try_from(index.as_u64()?).ok()?).cloned(),
        (Function::ArrayLength, [Value::Array(list)]) => Some(list.len().into()),
        (Function::ArrayUnique, [Value::Array(list)]) => {
            let mut seen: Vec<Value> = Vec::new();
            for value in list {
                if !seen.contains(value) {
                    seen.push(value.clone());
                }
            }
            Some(seen.into())
        }
        // Only the shallow merge exists in the States Language too: the third argument must be false.
        (Function::JsonMerge, [Value::Object(base), Value::Object(over), Value::Bool(false)]) => {
            let merged: Map<String, Value> = base.iter().chain(over).map(|(key, value)| (key.clone(), value.clone())).collect();
            Some(merged.into())
        }
        (Function::MathAdd, [Value::Number(left), Value::Number(right)]) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.checked_add(right).map(Value::from),
            _ => serde_json::Number::from_f64(left.as_f64()? + right.as_f64()?).map(Value::Number),
        },
        (Function::StringSplit, [Value::String(text), Value::String(separators)]) => {
            let parts = text.split(|c| separators.contains(c)).filter(|part| !part.is_empty());
            Some(parts.map(|part| Value::from(part.to_owned())).collect())
        }
        _ => None,
    }
}

/// Fills `{}` in order; `\{`, `\}` and `\\` stand for themselves. `None` when the number of values does not fit.
fn format(template: &str, values: &[Value]) -> Option<String> {
    let mut out = String::new();
    let mut values = values.iter();
    let mut letters = template.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            '{' => {
                letters.next().filter(|closing| *closing == '}')?;
                match values.next()? {
                    Value::String(text) => out.push_str(text),
                    other => out.push_str(&other.to_string()),
                }
            }
            _ => out.push(letter),
        }
    }
    values.next().is_none().then_some(out)
}

fn range(first: i64, last: i64, step: i64) -> Option<Value> {
    let span = last.checked_sub(first)?;
    let steps = span.checked_div(step)?;
    if steps < 0 {
        return Some(Value::Array(Vec::new()));
    }
    (steps < LONGEST_RANGE).then(|| (0..=steps).map(|nth| Value::from(first + nth * step)).collect())
}

/// Reads a call from left to right.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn call(&mut self) -> Result<Call, String> {
        self.skip_spaces();
        let Some((name, rest)) = self.rest.split_once('(') else { return Err(self.not_understood()) };
        let name = name.trim();
        let Some(&(_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            let meant = suggest(name, FUNCTIONS.iter().map(|(known, _)| *known));
            return Err(format!(
                "unknown function `{name}`{}",
                meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
            ));
        };
        self.rest = rest;
        let mut arguments = Vec::new();
        loop {
            self.skip_spaces();
            if arguments.is_empty() && self.eat(')') {
                break;
            }
            arguments.push(self.argument()?);
            self.skip_spaces();
            if self.eat(')') {
                break;
            }
            if !self.eat(',') {
                return Err(self.not_understood());
            }
        }
        Ok(Call { function, arguments })
    }

    fn argument(&mut self) -> Result<Argument, String> {
        if self.eat('\'') {
            return self.quoted().map(|text| Argument::Literal(Value::String(text)));
        }
        let end = self.rest.find([',', ')', '(']).ok_or_else(|| self.not_understood())?;
        let (word, rest) = self.rest.split_at(end);
        if rest.starts_with('(') {
            return self.call().map(Argument::Call);
        }
        let word = word.trim();
        let argument = if word.starts_with('$') {
            Argument::Path(Path::parse(word)?)
        } else {
            Argument::Literal(serde_json::from_str(word).map_err(|_| self.not_understood())?)
        };
        self.rest = rest;
        Ok(argument)
    }

    /// A text after its opening quote. `\'` and `\\` stand for the second letter; other escapes are kept for the template.
    fn quoted(&mut self) -> Result<String, String> {
        let mut text = String::new();
        let mut letters = self.rest.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => {
                    self.rest = letters.as_str();
                    return Ok(text);
                }
                '\\' => match letters.next() {
                    Some('\'') => text.push('\''),
                    Some(other) => text.extend(['\\', other]),
                    None => break,
                },
                _ => text.push(letter),
            }
        }
        Err(self.not_understood())
    }

    fn eat(&mut self, letter: char) -> bool {
        match self.rest.strip_prefix(letter) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn not_understood(&self) -> String {
        format!(
            "`{}` is no call that is understood here, from `{}` on; for example `States.Format('Hello {{}}', $.name)`",
            self.text, self.rest
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_function_gives_what_the_states_language_says() {
        let input = json!({"name": "Ada", "list": [1, 2, 2, 3], "n": 5, "text": "{\"a\":1}", "o": {"a": 1}, "p": {"b": 2}});
        for (call, wanted) in [
            ("States.Format('Hello {}, {} of {}', $.name, 1, $.n)", json!("Hello Ada, 1 of 5")),
            (r"States.Format('it\'s \{{}\}', $.o)", json!("it's {{\"a\":1}}")),
            ("States.StringToJson($.text)", json!({"a": 1})),
            ("States.JsonToString($.list)", json!("[1,2,2,3]")),
            ("States.Array($.name, 'b', null, true)", json!(["Ada", "b", null, true])),
            ("States.Array()", json!([])),
            ("States.ArrayPartition($.list, 3)", json!([[1, 2, 2], [3]])),
            ("States.ArrayContains($.list, 3)", json!(true)),
            ("States.ArrayRange(1, 9, 3)", json!([1, 4, 7])),
            ("States.ArrayGetItem($.list, 3)", json!(3)),
            ("States.ArrayLength($.list)", json!(4)),
            ("States.ArrayUnique($.list)", json!([1, 2, 3])),
            ("States.JsonMerge($.o, $.p, false)", json!({"a": 1, "b": 2})),
            ("States.MathAdd($.n, -7)", json!(-2)),
            ("States.MathAdd(0.5, 0.25)", json!(0.75)),
            ("States.StringSplit('a,b;;c', ',;')", json!(["a", "b", "c"])),
            ("States.MathAdd(States.ArrayLength($.list), $.n)", json!(9)),
        ] {
            assert_eq!(Call::parse(call).unwrap().evaluate(&input, &Value::Null), Ok(wanted), "{call}");
        }
    }

    #[test]
    fn calls_that_cannot_be_read_are_refused_with_a_right_example_or_the_likely_meaning() {
        for (call, part) in [
            ("States.Formt('x')", "did you mean `States.Format`"),
            ("States.UUID()", "unknown function"),
            ("States.Format('x'", "from `` on"),
            ("States.Format('x) ", "for example"),
            ("States.Array(1 2)", "for example"),
            ("States.Array(1) x", "from `x` on"),
        ] {
            let refused = Call::parse(call).unwrap_err();
            assert!(refused.contains(part), "{call}: {refused}");
        }
    }

    #[test]
    fn arguments_that_do_not_fit_are_an_error_not_a_guess() {
        for call in [
            "States.Format('{} {}', 1)",
            "States.Format('{}', 1, 2)",
            "States.MathAdd('1', 2)",
            "States.ArrayRange(0, 1000000, 1)",
            "States.ArrayRange(0, 1, 0)",
            "States.StringToJson('{')",
            "States.ArrayGetItem(States.Array(), 0)",
        ] {
            let answer = Call::parse(call).unwrap().evaluate(&Value::Null, &Value::Null);
            assert!(matches!(answer, Err(CallError::Arguments(_))), "{call}: {answer:?}");
        }
    }
}
