//! Lists that come in several answers, put together.

use http::header::LINK;
use jobgate_adapter_api::{AdapterError, ErrorKind, Operation};
use minijinja::value::{Value as Dynamic, ValueKind};

use crate::exchange::{Answer, Exchange};
use crate::language::{Context, Faulty, Text};
use crate::plan::{PageKind, PagesPlan, RequestPlan, Target};
use crate::steps::{Asked, Left};

/// The request for the next page, and which one it is.
struct Next {
    request: RequestPlan,
    page: Dynamic,
}

impl Exchange {
    /// The whole list, which is `items` afterwards; `None` where there is nothing. A list that goes on after the last answer that may be
    /// asked for is an error: what is not in a part of it may be in the rest.
    pub(crate) async fn list(
        &self,
        operation: Operation,
        left: Left,
        asked: Asked<'_>,
        pages: &PagesPlan,
        context: &mut Context,
    ) -> Result<Option<Dynamic>, AdapterError> {
        let lacks = |faulty| self.lacks(operation, &faulty);
        let mut items: Vec<Dynamic> = Vec::new();
        let mut count = match &pages.kind {
            PageKind::Page { first, .. } => *first,
            PageKind::Offset { .. } | PageKind::Link | PageKind::Token { .. } => 0,
        };
        let mut next = Next { request: asked.request.clone(), page: Dynamic::from(count) };
        for nth in 0..pages.most {
            context.set_dynamic(PagesPlan::PLACE, next.page);
            let page = Asked { request: &next.request, ..asked };
            let Some(answer) = self.answer_to(operation, left, page, context).await? else {
                return Ok((nth > 0).then(|| Dynamic::from(items)));
            };
            let part = self.elements(operation, &pages.items, context)?;
            let got = part.len() as u64;
            items.extend(part);
            let all = Dynamic::from(items.clone());
            context.set_dynamic("items", all.clone());
            if let Some(until) = &pages.until
                && self.plan.engine.holds(until, context).map_err(lacks)?
            {
                return Ok(Some(all));
            }
            let short = |length: &Option<u64>| got == 0 || length.is_some_and(|length| got < length);
            let further = match &pages.kind {
                PageKind::Link => {
                    self.linked(operation, &next.request, &answer, context)?.map(|request| (request, Dynamic::from(0)))
                }
                PageKind::Page { size, .. } => {
                    count += 1;
                    (!short(size)).then(|| (next.request, Dynamic::from(count)))
                }
                PageKind::Offset { limit } => {
                    count += got;
                    (!short(limit)).then(|| (next.request, Dynamic::from(count)))
                }
                PageKind::Token { from, further } => {
                    let token = self.plan.engine.string_if_any(from, context).map_err(lacks)?;
                    token.map(|token| (further.as_ref().clone(), Dynamic::from(token)))
                }
            };
            let Some((request, page)) = further else { return Ok(Some(all)) };
            next = Next { request, page };
        }
        let message = format!("the list goes on after {} answers, and `most` allows no more", pages.most);
        Err(lacks(Faulty { message, undefined: false }))
    }

    /// The elements of a list; what is undefined or null has none.
    pub(crate) fn elements(&self, operation: Operation, list: &Text, context: &Context) -> Result<Vec<Dynamic>, AdapterError> {
        let lacks = |faulty| self.lacks(operation, &faulty);
        let list = match self.plan.engine.dynamic(list, context) {
            Ok(list) => list,
            Err(faulty) if faulty.undefined => return Ok(Vec::new()),
            Err(faulty) => return Err(lacks(faulty)),
        };
        let elements = match list.kind() {
            ValueKind::None => return Ok(Vec::new()),
            ValueKind::Seq | ValueKind::Iterable => list.try_iter().ok(),
            _ => None,
        };
        let no_list = || Faulty { message: "what `items` names is no list".to_owned(), undefined: false };
        Ok(elements.ok_or_else(|| lacks(no_list()))?.collect())
    }

    /// The same request at the address that the answer's `Link` header names as next, which may be relative to its own.
    fn linked(
        &self,
        operation: Operation,
        request: &RequestPlan,
        answer: &Answer,
        context: &Context,
    ) -> Result<Option<RequestPlan>, AdapterError> {
        let mut headers = answer.headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
        let Some(link) = headers.find_map(next_link) else { return Ok(None) };
        let rejected = |message: String| AdapterError::new(ErrorKind::Protocol, operation, message);
        let own = self.url(&request.target, context).map_err(rejected)?;
        let url = own.join(link).map_err(|_| rejected("the link that the provider gave is no address".to_owned()))?;
        Ok(Some(RequestPlan { target: Target::Url(Text::constant(url.into())), query: Vec::new(), ..request.clone() }))
    }
}

/// The target of the first link with `rel="next"` in a `Link` header (RFC 8288 section 3).
fn next_link(header: &str) -> Option<&str> {
    let mut rest = header;
    loop {
        let (target, after) = rest.split_once('<')?.1.split_once('>')?;
        // A comma in a quoted parameter separates nothing.
        let mut quoted = false;
        let end = after.find(|c: char| {
            quoted ^= c == '"';
            c == ',' && !quoted
        });
        let (parameters, others) = after.split_at(end.unwrap_or(after.len()));
        let is_next = parameters.split(';').filter_map(|parameter| parameter.split_once('=')).any(|(name, value)| {
            let mut kinds = value.trim().trim_matches('"').split_ascii_whitespace();
            name.trim().eq_ignore_ascii_case("rel") && kinds.any(|kind| kind.eq_ignore_ascii_case("next"))
        });
        if is_next {
            return Some(target);
        }
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_link_is_found_among_others() {
        for (header, wanted) in [
            (
                r#"<https://a.example/x?page=2&since=1,2>; rel="next", <https://a.example/x?page=9>; rel="last""#,
                Some("https://a.example/x?page=2&since=1,2"),
            ),
            (r#"</x?page=1>; rel="prev"; title="next, or not"; , </x?page=3>; title="a, b"; REL="last NEXT""#, Some("/x?page=3")),
            ("<?cursor=b>;rel=next", Some("?cursor=b")),
            (r#"</x>; rel="prev""#, None),
            (r#"</x>; rev="next""#, None),
            ("", None),
            ("<unended; rel=next", None),
        ] {
            assert_eq!(next_link(header), wanted, "{header}");
        }
    }
}
