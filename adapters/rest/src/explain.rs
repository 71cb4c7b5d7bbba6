//! What the words of a tool do, in plain sentences: what is called when, and what is made of it. It reads the words as they are written,
//! after they have been checked.

use serde_json::{Map, Value};

/// The sentences of one tool, in the order in which things happen.
pub(crate) fn explain(provider: &Value, job: &Value) -> Vec<String> {
    let mut said = Said { provider, lines: Vec::new() };
    said.account();
    said.start(job);
    said.look(job);
    said.end(job);
    said.cancel(&job["cancel"]);
    said.input(&job["input"]);
    said.deliveries(job);
    said.errors();
    said.lines
}

struct Said<'a> {
    provider: &'a Value,
    lines: Vec<String>,
}

impl Said<'_> {
    fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn account(&mut self) {
        let (kind, words) = match self.provider["auth"].as_object().and_then(|auth| auth.iter().next()) {
            Some((kind, words)) => (kind.as_str(), words),
            None => return self.say("Requests carry no credential."),
        };
        let from = |value: &Value| value.as_str().map(|reference| format!(" from {reference}")).unwrap_or_default();
        let line = match kind {
            "bearer" => format!("Every request carries a bearer token{}.", from(words)),
            "basic" => format!("Every request carries a user and a password{}.", from(&words["password"])),
            "header" => format!("Every request carries the header {}{}.", text(&words["name"]), from(&words["value"])),
            "query" => format!("Every request carries the parameter {}{}.", text(&words["name"]), from(&words["value"])),
            "field" => format!("Every body carries the field {}{}.", text(&words["name"]), from(&words["value"])),
            "headers" => format!("Every request carries the headers {}.", keys(words)),
            "aws_sigv4" => {
                format!("Every request is signed (AWS Signature Version 4) for the service {}.", text(&words["service"]))
            }
            "login" | "cookie" => {
                format!(
                    "Before the first request, and when it has run out: {} signs in ({kind}).",
                    self.request(&words["request"])
                )
            }
            other => match words["token_url"].as_str() {
                Some(url) => {
                    format!("Before the first request, and when it has run out, a token is fetched from {url} ({other}).")
                }
                None => format!("Every request carries a token that is made here ({other})."),
            },
        };
        self.say(line);
    }

    fn start(&mut self, job: &Value) {
        for step in list(&job["lookups"]) {
            let kept = step["cache"].as_str().map(|span| format!(", kept for {span}")).unwrap_or_default();
            let line = self.step(step);
            self.say(format!("Before a job is started{kept}: {line}"));
        }
        let submit = &job["submit"];
        let request = self.request(&submit["request"]);
        self.say(format!("To start a job: {request}{}.", codes(&submit["accept"], "; taken with")));
        for outcome in list(&submit["outcomes"]) {
            let means = match outcome["means"].as_str().unwrap_or_default() {
                "started" => "a job was started",
                "existing" => "the job is there already, from an earlier try",
                "nothing" => "nothing was started, and the call fails",
                "finished" => "the job was started and may have ended: the answer is read like that of a look",
                "busy" => "there is no room now, and it is tried again later",
                "rejected" => "the provider refuses the job",
                _ => "nobody knows whether a job was started",
            };
            let read = match outcome.get("read") {
                Some(read) => format!("; {} names it", self.request(&read["request"])),
                None => String::new(),
            };
            self.say(format!("  {}: {means}{read}.", condition(outcome)));
        }
        if let Some(busy) = submit["busy"].as_str() {
            self.say(format!("  When `{busy}`: there is no room now, and it is tried again later."));
        }
        for rule in list(&submit["rejected"]) {
            self.say(format!("  When `{}`: the provider refuses the job.", text(&rule["when"])));
        }
        let handles = pairs(&submit["job"]["handles"]);
        let kept = if handles.is_empty() { String::new() } else { format!("; kept with it: {handles}") };
        self.say(format!("  The job's id is `{}`{kept}.", text(&submit["job"]["id"])));
        self.lost_answer(job);
    }

    fn lost_answer(&mut self, job: &Value) {
        let find = &job["find"];
        if find.is_object() {
            let looked = self.request(&find["request"]);
            let by = find["match"].as_str().map(|by| format!("; the job is the one where `{by}`")).unwrap_or_default();
            let pages = pages(&find["pages"]);
            let unsure = find["unsure"].as_str().map(|when| format!("; where `{when}`, nobody knows of one that is not found"));
            let unsure = unsure.unwrap_or_default();
            self.say(format!("When the answer to the start is lost, the job is looked for: {looked}{pages}{by}{unsure}."));
        } else if job["idempotent"] == true {
            self.say("When the answer to the start is lost, the same request is made again: the API then gives the first job.");
        } else {
            self.say(
                "When the answer to the start is lost, nothing is started again: the task ends, and says that nobody knows.",
            );
        }
    }

    fn look(&mut self, job: &Value) {
        let status = &job["status"];
        for resolve in list(&status["resolve"]) {
            let request = self.request(&resolve["request"]);
            let name = text(&resolve["handle"]);
            let within = resolve["within"].as_str().map(|span| format!("; after {span} without it the job has failed"));
            let within = within.unwrap_or_default();
            self.say(format!(
                "Every look, until `{name}` is known: {request} gives it as `{}`{within}.",
                text(&resolve["value"])
            ));
        }
        if status["request"].is_object() {
            let request = self.request(&status["request"]);
            let gone = codes(&status["not_found"], "; no such job with");
            self.say(format!("Every look: {request}{gone}."));
        } else {
            self.say("The job is never looked at: its deliveries alone tell of it.");
        }
        for step in list(&status["steps"]) {
            let line = self.step(step);
            self.say(format!("  and also: {line}"));
        }
        if let Some(word) = status["word"].as_str() {
            self.say(format!("  The status word is `{word}`. The first of these that holds decides:"));
        }
        for rule in list(&status["rules"]) {
            self.rule(rule);
        }
        if status["word"].is_string() {
            self.say("    any other word: shown as it is, and the job counts as running");
        }
        if let Some(progress) = status["progress"].as_object() {
            self.say(format!("  Progress: {}.", pairs(&Value::Object(progress.clone()))));
        }
        let learned = [pairs(&status["handles"]), pairs(&status["pins"])].into_iter().filter(|one| !one.is_empty());
        for values in learned {
            self.say(format!("  Learned for later requests: {values}."));
        }
        let log = &job["log"];
        if log.is_object() {
            let request = self.request(&log["request"]);
            self.say(format!("The end of its log{}: {request}.", when(log)));
        }
    }

    fn rule(&mut self, rule: &Value) {
        let words: Vec<&str> = list(&rule["is"]).filter_map(Value::as_str).collect();
        let mut conditions = Vec::new();
        if !words.is_empty() {
            conditions.push(words.join(", "));
        }
        if let Some(when) = rule["when"].as_str() {
            conditions.push(format!("`{when}`"));
        }
        let late = rule["within"].as_str().map(|span| {
            let then = rule["late"].as_str().unwrap_or("failed");
            format!("; {then} when it stays so for {span}")
        });
        self.say(format!("    {}: {}{}", conditions.join(" and "), text(&rule["state"]), late.unwrap_or_default()));
    }

    fn end(&mut self, job: &Value) {
        for (word, what) in [("result", "When it has ended well"), ("failure", "When it has failed")] {
            let part = &job[word];
            for step in list(&part["steps"]) {
                let line = self.step(step);
                self.say(format!("{what}: {line}"));
            }
            if part["request"].is_object() {
                let request = self.request(&part["request"]);
                self.say(format!("{what}: {request}."));
            }
            let told = ["text", "data", "message", "code"].into_iter().filter(|name| part.get(*name).is_some());
            let mut told: Vec<String> = told.map(|name| format!("{name} {}", inline(&part[name]))).collect();
            for (name, one) in [("content", "piece"), ("links", "link")] {
                let count = list(&part[name]).count();
                if count > 0 {
                    told.push(format!("{count} {one}{}", if count == 1 { "" } else { "s" }));
                }
            }
            for artifact in list(&part["artifacts"]) {
                let kept = if artifact["keep"] == true { "kept here" } else { "linked" };
                told.push(format!("a file, {kept}, from {}", inline(&artifact["uri"])));
            }
            if !told.is_empty() {
                self.say(format!("{what}, it hands over {}.", told.join("; ")));
            }
            if part["required"] == true {
                self.say("  Without any output it counts as failed.");
            }
        }
    }

    fn cancel(&mut self, cancel: &Value) {
        if !cancel.is_object() {
            return self.say("It cannot be cancelled.");
        }
        if cancel["look"] == true {
            self.say("Before a cancel the job is looked at, and nothing is sent to one that has ended.");
        }
        for step in list(&cancel["steps"]) {
            let line = self.step(step);
            self.say(format!("Before a cancel: {line}"));
        }
        self.ways("To cancel it", cancel);
        let escalate = &cancel["escalate"];
        if escalate.is_object() {
            self.ways(&format!("If it still runs {} later", text(&escalate["after"])), escalate);
        }
    }

    fn ways(&mut self, what: &str, words: &Value) {
        if words["request"].is_object() {
            let request = self.request(&words["request"]);
            let ended = codes(&words["already_ended"], "; it has ended already with");
            let refused = codes(&words["refused"], "; it cannot be stopped with");
            self.say(format!("{what}: {request}{ended}{refused}."));
        }
        for way in list(&words["ways"]) {
            let request = self.request(&way["request"]);
            let each = way["each"].as_str().map(|each| format!(" for each of `{each}`")).unwrap_or_default();
            self.say(format!("{what}{}{each}: {request}.", when(way)));
        }
    }

    fn input(&mut self, input: &Value) {
        if !input.is_object() {
            return;
        }
        for step in list(&input["steps"]) {
            let line = self.step(step);
            self.say(format!("When it waits for a person: {line}"));
        }
        self.say(format!("When it waits for a person, it asks {}.", inline(&input["message"])));
        for (word, what) in [("accept", "An answer goes to"), ("decline", "A no goes to")] {
            match &input[word] {
                Value::Object(way) => {
                    let request = self.request(way.get("request").unwrap_or(&Value::Null));
                    self.say(format!("  {what} {request}."));
                }
                Value::String(word) => self.say(format!("  A no means: {word}.")),
                _ => {}
            }
        }
    }

    fn deliveries(&mut self, job: &Value) {
        let delivery = &self.provider["delivery"];
        if !delivery.is_object() {
            return;
        }
        let id = delivery["job"].as_str().or(delivery["jobs"].as_str()).unwrap_or_default();
        let which = delivery["when"].as_str().map(|when| format!(" when `{when}`")).unwrap_or_default();
        self.say(format!(
            "A delivery{which} names the job as `{id}`; where it is not believed, it only says that it is time to look."
        ));
        for rule in list(&job["delivery"]["rules"]) {
            self.rule(rule);
        }
    }

    fn errors(&mut self) {
        for rule in list(&self.provider["errors"]) {
            let means = text(&rule["means"]).replace('_', " ");
            self.say(format!("Any answer, {}: {means}.", condition(rule).to_lowercase()));
        }
        if let Some(pace) = self.provider["pace"].as_object() {
            let names: Vec<String> = pace.values().filter_map(|word| Some(word["header"].as_str()?.to_owned())).collect();
            self.say(format!("Calls keep to the pace that answers give in {}.", names.join(" and ")));
        }
    }

    fn step(&self, step: &Value) -> String {
        let each = step["each"].as_str().map(|each| format!(" for each of `{each}`")).unwrap_or_default();
        let request = self.request(&step["request"]);
        let none = codes(&step["missing"], "; there is none with");
        format!("`{}`{}{each}: {request}{}{none}.", text(&step["name"]), when(step), pages(&step["pages"]))
    }

    /// A request, with its address and what it carries.
    fn request(&self, request: &Value) -> String {
        let sends = ["body", "form", "multipart", "raw"].into_iter().find(|word| request.get(*word).is_some());
        let method = request["method"].as_str().unwrap_or(if sends.is_some() { "POST" } else { "GET" });
        let address = match (request["path"].as_str(), request["url"].as_str()) {
            (Some(path), _) => {
                let base = request["base"].as_str().map_or(&self.provider["base_url"], |name| &self.provider["bases"][name]);
                format!("{}{path}", self.settled(text(base)).trim_end_matches('/'))
            }
            (None, Some(url)) => url.to_owned(),
            (None, None) => String::new(),
        };
        let mut with = Vec::new();
        let named = |word: &str, what: &str| {
            let fields = request[word].as_object().filter(|fields| !fields.is_empty())?;
            Some(format!("{what} {}", names(fields)))
        };
        with.extend(named("query", "the parameters"));
        with.extend(named("headers", "the headers"));
        match sends {
            Some("body") if request["body"].is_object() => with.extend(named("body", "a JSON body of")),
            Some("body") => with.push(format!("the JSON body {}", inline(&request["body"]))),
            Some("form") => with.extend(named("form", "a form of")),
            Some("multipart") => with.extend(named("multipart", "the parts")),
            Some("raw") => with.push("a body of text".to_owned()),
            Some(_) | None => {}
        }
        let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(" and ")) };
        format!("{method} {address}{with}")
    }

    /// An address with the settings in it.
    fn settled(&self, text: String) -> String {
        let settings = self.provider["settings"].as_object().into_iter().flatten();
        settings.fold(text, |text, (name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text.replace(&format!("{{{{ settings.{name} }}}}"), &value)
        })
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(String::new, str::to_owned)
}

/// A value in one line.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", text.trim()),
        Value::Object(fields) => format!("({})", names(fields)),
        other => other.to_string(),
    }
}

fn names(fields: &Map<String, Value>) -> String {
    fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn keys(value: &Value) -> String {
    value.as_object().map(names).unwrap_or_default()
}

fn pairs(value: &Value) -> String {
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, value)| format!("{name} = {}", inline(value))).collect::<Vec<_>>().join(", ")
}

fn when(words: &Value) -> String {
    words["when"].as_str().map(|when| format!(", when `{when}`")).unwrap_or_default()
}

/// Codes and condition of a rule over answers.
fn condition(rule: &Value) -> String {
    let code = codes(&rule["code"], "With");
    match (code.is_empty(), rule["when"].as_str()) {
        (false, Some(when)) => format!("{code} and `{when}`"),
        (false, None) => code,
        (true, Some(when)) => format!("When `{when}`"),
        (true, None) => "Otherwise".to_owned(),
    }
}

fn codes(codes: &Value, what: &str) -> String {
    let said: Vec<String> = match codes {
        Value::Array(codes) => codes.iter().map(|code| code.as_str().map_or_else(|| code.to_string(), str::to_owned)).collect(),
        Value::Null => return String::new(),
        one => vec![one.as_str().map_or_else(|| one.to_string(), str::to_owned)],
    };
    if said.is_empty() { String::new() } else { format!("{what} {}", said.join(", ")) }
}

fn pages(pages: &Value) -> String {
    if !pages.is_object() {
        return String::new();
    }
    let most = pages["most"].as_u64().unwrap_or(5);
    format!(", page after page (at most {most})")
}
