//! Once, or once for each element of a list.

use jobgate_adapter_api::{AdapterError, Operation};
use minijinja::value::ValueKind;

use crate::exchange::Exchange;
use crate::language::{Context, Faulty};
use crate::plan::RepeatPlan;

/// The contexts in which something is to be made, and how many more there would have been.
pub(crate) struct Repeated {
    pub(crate) contexts: Vec<Context>,
    pub(crate) left_out: usize,
}

impl Exchange {
    /// Where there is no list there is nothing in it; what is there and is no list is a fault of the answer.
    pub(crate) fn repeat(&self, operation: Operation, plan: &RepeatPlan, context: &Context) -> Result<Repeated, AdapterError> {
        let lacks = |faulty| self.lacks(operation, &faulty);
        let wanted = |context: &Context| match &plan.when {
            Some(when) => self.plan.engine.holds(when, context).map_err(lacks),
            None => Ok(true),
        };
        let mut repeated = Repeated { contexts: Vec::new(), left_out: 0 };
        let Some(list) = &plan.each else {
            if wanted(context)? {
                repeated.contexts.push(context.clone());
            }
            return Ok(repeated);
        };
        let list = match self.plan.engine.dynamic(list, context) {
            Ok(list) => list,
            Err(Faulty { undefined: true, .. }) => return Ok(repeated),
            Err(faulty) => return Err(lacks(faulty)),
        };
        let items = match list.kind() {
            ValueKind::None => return Ok(repeated),
            ValueKind::Seq | ValueKind::Iterable => list.try_iter().ok(),
            _ => None,
        };
        let no_list = || Faulty { message: "what `each` names is no list".to_owned(), undefined: false };
        for item in items.ok_or_else(|| lacks(no_list()))? {
            let mut context = context.clone();
            context.set_dynamic("item", item);
            if !wanted(&context)? {
                continue;
            }
            if repeated.contexts.len() < plan.most {
                repeated.contexts.push(context);
            } else {
                repeated.left_out += 1;
            }
        }
        Ok(repeated)
    }
}
