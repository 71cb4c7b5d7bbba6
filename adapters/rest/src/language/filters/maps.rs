//! Reshaping maps and lists, and words that speak for many.

use std::collections::BTreeMap;

use minijinja::Error;
use minijinja::value::{Kwargs, Value, ValueKind};

use super::wrong;

/// The values of a map, as a list.
pub(super) fn values(map: &Value) -> Result<Value, Error> {
    let keys = map.try_iter()?;
    keys.map(|key| map.get_item(&key)).collect::<Result<Vec<Value>, Error>>().map(Value::from)
}

/// A map as a list of maps, by default with `key` and `value`: `args.variables | pairs(key='name')`.
pub(super) fn pairs(map: &Value, names: Kwargs) -> Result<Value, Error> {
    let key_name: Option<&str> = names.get("key")?;
    let value_name: Option<&str> = names.get("value")?;
    names.assert_all_used()?;
    let pair = |key: Value| {
        let value = map.get_item(&key)?;
        Ok(Value::from(BTreeMap::from([(key_name.unwrap_or("key"), key), (value_name.unwrap_or("value"), value)])))
    };
    map.try_iter()?.map(pair).collect::<Result<Vec<Value>, Error>>().map(Value::from)
}

/// A list of maps as one map, by a field that names each: `body.parameters | keyed('name', value='value')`. Without `value` each stays whole
/// but for its name; every other option is a field for those that lack it.
pub(super) fn keyed(list: &Value, by: &str, options: Kwargs) -> Result<Value, Error> {
    let taken: Option<&str> = options.get("value")?;
    let names: Vec<&str> = options.args().filter(|name| *name != "value").collect();
    let more = names.into_iter().map(|name| Ok((name.to_owned(), options.get(name)?)));
    let more = more.collect::<Result<BTreeMap<String, Value>, Error>>()?;
    let mut map = BTreeMap::new();
    for member in members(list)? {
        let name = member.get_attr(by)?;
        let name = name.as_str().ok_or_else(|| wrong("`keyed` was given a list with a member that has no such name"))?.to_owned();
        let value = match taken {
            Some(field) => member.get_attr(field)?,
            None => {
                let mut fields = more.clone();
                for field in member.try_iter()? {
                    let value = member.get_item(&field)?;
                    fields.extend(field.as_str().filter(|field| *field != by).map(|field| (field.to_owned(), value)));
                }
                Value::from(fields)
            }
        };
        if !value.is_undefined() {
            map.insert(name, value);
        }
    }
    Ok(Value::from(map))
}

/// A map as a list of texts, `["k=v"]`, with another sign between by `sep=':'`.
pub(super) fn assignments(map: &Value, options: Kwargs) -> Result<Value, Error> {
    let sep: Option<&str> = options.get("sep")?;
    options.assert_all_used()?;
    let sep = sep.unwrap_or("=");
    let assignment = |key: Value| Ok(Value::from(format!("{key}{sep}{}", map.get_item(&key)?)));
    map.try_iter()?.map(assignment).collect::<Result<Vec<Value>, Error>>().map(Value::from)
}

/// A map of maps as a map of one of their fields: `body.params | pick('schema')`. What lacks it is left out.
pub(super) fn pick(map: &Value, field: &str) -> Result<Value, Error> {
    let of = |value: Value| value.get_attr(field).ok().filter(|value| !value.is_undefined());
    let picked = entries(map)?.into_iter().filter_map(|(name, value)| Some((name, of(value)?)));
    Ok(Value::from(picked.collect::<BTreeMap<String, Value>>()))
}

/// What a map and another have together; where both have a name, the other's value counts.
pub(super) fn merge(map: &Value, other: &Value) -> Result<Value, Error> {
    Ok(Value::from(entries(map)?.into_iter().chain(entries(other)?).collect::<BTreeMap<String, Value>>()))
}

/// The part of a map whose names are in a list, or in another map: `answer.content | only(item.fields)`.
pub(super) fn only(map: &Value, names: &Value) -> Result<Value, Error> {
    let names = members(names)?;
    let named = |name: &str| names.iter().any(|listed| listed.as_str() == Some(name));
    Ok(Value::from(entries(map)?.into_iter().filter(|(name, _)| named(name)).collect::<BTreeMap<String, Value>>()))
}

/// The names of a map, which are texts as in JSON, and its values.
fn entries(map: &Value) -> Result<Vec<(String, Value)>, Error> {
    if map.kind() != ValueKind::Map {
        return Err(wrong("a map was wanted, and something else was given"));
    }
    map.try_iter()?.map(|name| Ok((name.to_string(), map.get_item(&name)?))).collect()
}

/// Whether every member is one of `wanted`. Not so for an empty list: what has no children yet is not done.
pub(super) fn all_in(list: &Value, wanted: &Value) -> Result<bool, Error> {
    let (list, wanted) = (members(list)?, members(wanted)?);
    Ok(!list.is_empty() && list.iter().all(|member| wanted.contains(member)))
}

/// Whether any member is one of `wanted`.
pub(super) fn any_in(list: &Value, wanted: &Value) -> Result<bool, Error> {
    let (list, wanted) = (members(list)?, members(wanted)?);
    Ok(list.iter().any(|member| wanted.contains(member)))
}

/// The member that comes first in `order`, worst first; undefined where none of them is in it.
pub(super) fn worst(list: &Value, order: &Value) -> Result<Value, Error> {
    let list = members(list)?;
    Ok(members(order)?.into_iter().find(|word| list.contains(word)).unwrap_or(Value::UNDEFINED))
}

fn members(list: &Value) -> Result<Vec<Value>, Error> {
    if list.as_str().is_some() {
        return Err(wrong("a list was wanted, and a text was given"));
    }
    Ok(list.try_iter()?.collect())
}
