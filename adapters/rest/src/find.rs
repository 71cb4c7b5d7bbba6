//! Looking for the job of an earlier submit: by its key or tag, or in a list whose elements are compared.

use jobgate_adapter_api::{AdapterError, CallContext, ErrorKind, JobRef, Operation};

use crate::exchange::Exchange;
use crate::language::{Context, Faulty};
use crate::plan::{DetailPlan, FindPlan, ListPlan, ToolPlan};
use crate::steps::{Asked, Left};

const FIND: Operation = Operation::Find;

impl Exchange {
    /// The job, or `None` where the provider is sure that there is none. `context` knows the key and the arguments.
    pub(crate) async fn find(
        &self,
        cx: &CallContext,
        tool: &ToolPlan,
        plan: &FindPlan,
        mut context: Context,
    ) -> Result<Option<JobRef>, AdapterError> {
        // What the job itself would need, and its search does not, is not asked for again.
        let lookups = if plan.uses("steps") { &tool.lookups[..] } else { &[] };
        let looked = self.look_up(FIND, cx, lookups, &mut context).await?;
        let left = self.left(looked.timeout);
        let asked = Asked { request: &plan.request, reading: &plan.reading, missing: &plan.not_found };
        let Some(list) = &plan.list else {
            let there = self.answer_to(FIND, left, asked, &mut context).await?.is_some();
            let found = if there { self.job(FIND, &plan.job, &context)? } else { None };
            return self.believed(plan, found, &context);
        };
        let items = match &list.pages {
            Some(pages) => {
                let there = self.list(FIND, left, asked, pages, &mut context).await?;
                there.map(|items| items.try_iter().into_iter().flatten().collect())
            }
            None => match self.answer_to(FIND, left, asked, &mut context).await? {
                Some(_) => Some(self.elements(FIND, &list.items, &context)?),
                None => None,
            },
        };
        let mut found: Option<JobRef> = None;
        let mut details = 0;
        for item in items.unwrap_or_default() {
            let mut context = context.clone();
            context.set_dynamic("item", item);
            if let Some(detail) = &list.detail
                && !self.detail(left, detail, &mut details, &mut context).await?
            {
                continue;
            }
            if !self.plan.engine.holds(&list.matches, &context).map_err(|faulty| self.lacks(FIND, &faulty))? {
                continue;
            }
            let nameless = || self.lacks(FIND, &doubt("the job that matches has no id"));
            let job = self.job(FIND, &plan.job, &context)?.ok_or_else(nameless)?;
            // A list that grows while it is read shows an element twice; two jobs for one key are nobody's guess, least of all the newest.
            match &found {
                Some(other) if other.id() != job.id() => {
                    return Err(self.lacks(FIND, &doubt("two jobs match, and nothing says which of them is ours")));
                }
                Some(_) | None => found = Some(job),
            }
        }
        self.believed(plan, found, &context)
    }

    /// That there is none is no news of a provider that may have forgotten it.
    fn believed(&self, plan: &FindPlan, found: Option<JobRef>, context: &Context) -> Result<Option<JobRef>, AdapterError> {
        let Some(unsure) = plan.unsure.as_ref().filter(|_| found.is_none()) else { return Ok(found) };
        if self.plan.engine.holds(unsure, context).map_err(|faulty| self.lacks(FIND, &faulty))? {
            return Err(AdapterError::new(ErrorKind::OutcomeUnknown, FIND, "it may have forgotten the job"));
        }
        Ok(None)
    }

    /// Asks for more about an element; whether it can be the job at all.
    async fn detail(&self, left: Left, plan: &DetailPlan, made: &mut usize, context: &mut Context) -> Result<bool, AdapterError> {
        let lacks = |faulty| self.lacks(FIND, &faulty);
        if let Some(when) = &plan.when
            && !self.plan.engine.holds(when, context).map_err(lacks)?
        {
            return Ok(false);
        }
        if *made >= plan.most {
            let message = format!("more than {} elements are to be looked at one by one, and `most` allows no more", plan.most);
            return Err(lacks(doubt(&message)));
        }
        *made += 1;
        let asked = Asked { request: &plan.request, reading: &plan.reading, missing: &plan.missing };
        let Some(answer) = self.answer_to(FIND, left, asked, &mut context.clone()).await? else { return Ok(false) };
        context.set_dynamic("detail", answer.as_value());
        Ok(true)
    }
}

fn doubt(message: &str) -> Faulty {
    Faulty { message: message.to_owned(), undefined: false }
}

impl ListPlan {
    /// Whether any of its texts uses a name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let detail = |detail: &DetailPlan| detail.request.uses(name) || detail.when.as_ref().is_some_and(|when| when.uses(name));
        let pages = self.pages.as_ref().is_some_and(|pages| pages.uses(name));
        self.matches.uses(name) || self.items.uses(name) || pages || self.detail.as_ref().is_some_and(detail)
    }
}

impl FindPlan {
    /// Whether any of its texts uses a name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let unsure = self.unsure.as_ref().is_some_and(|unsure| unsure.uses(name));
        unsure || self.request.uses(name) || self.job.uses(name) || self.list.as_ref().is_some_and(|list| list.uses(name))
    }
}
