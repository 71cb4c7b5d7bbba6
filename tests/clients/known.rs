//! The clients: how each is run, and what it has no words for.

/// How a client's scripts are run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Speaks {
    /// With Node. The argument chooses among what one script can be.
    Node { argument: Option<&'static str> },
    /// With Python, in an environment of its own.
    Python { environment: &'static str },
    /// A command that npm installed, driven by a script.
    Commands { kind: &'static str },
    /// Linked into this test.
    Rust,
}

/// What pins a client's version.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pinned {
    Npm(&'static str),
    Pip(&'static str, &'static str),
    Cargo(&'static str),
}

/// A client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// Names its files.
    pub(crate) key: &'static str,
    /// Names it in the table.
    pub(crate) name: &'static str,
    pub(crate) pinned: Pinned,
    /// The version of the protocol that it speaks.
    pub(crate) protocol: &'static str,
    pub(crate) speaks: Speaks,
    /// The script of its story, and of its return after the kill; empty: nothing to run.
    pub(crate) story: &'static str,
    pub(crate) kept: &'static str,
    /// Steps that it has no words for, and why.
    pub(crate) cannot: &'static [(&'static str, &'static str)],
    /// What it says where a script tries such a step all the same.
    pub(crate) refuses: &'static str,
    /// Steps that it tells in its own way: the words by which it does, and a note.
    pub(crate) tells: &'static [(&'static str, &'static str, &'static str)],
}

impl Client {
    pub(crate) fn title(&self) -> String {
        format!("{} at {}", self.name, self.protocol)
    }
}

const EXTENSION: &str = "2026-07-28";

const CORE: &str = "2025-11-25";

const NO_HANDLE: &str = "It holds no tasks: a call waits for its result, and a cut call is over for it";
const NO_TASK: &str = "It takes no task as the answer to a call, although it can be told to declare the extension";

const FAILED_ALONE: &str = "At 2025-11-25 a job that failed is a failed task; the client says so, and no more";
const ONLY_TASKS: &str = "The tool runs only as a task; the client is told so";
const BY_HAND: &str = "With requests that are written by hand, each with a schema";
const OWN_PROCESS: &str = "Over stdio the gateway is a process of the client's own, and its connection ends with it";
const NO_FORMS: &str = "It shows no forms";

/// Every client, in the order of the table.
pub(crate) const CLIENTS: &[Client] = &[
    Client {
        key: "ext-tasks-3",
        name: "`@modelcontextprotocol/ext-tasks`",
        pinned: Pinned::Npm("@modelcontextprotocol/ext-tasks"),
        protocol: EXTENSION,
        speaks: Speaks::Node { argument: Some("3") },
        story: "ext-tasks.mjs",
        kept: "after/ext-tasks.mjs",
        cannot: &[],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "v2-plain",
        name: "`@modelcontextprotocol/client`",
        pinned: Pinned::Npm("@modelcontextprotocol/client"),
        protocol: EXTENSION,
        speaks: Speaks::Node { argument: Some("plain") },
        story: "v2.mjs",
        kept: "",
        cannot: &[("resume", NO_HANDLE), ("kill_same", NO_HANDLE), ("kill_new", NO_HANDLE), ("kill_input", NO_HANDLE)],
        refuses: "",
        tells: &[("failing", "-32021", ONLY_TASKS), ("fault", "-32021", ONLY_TASKS)],
    },
    Client {
        key: "v2-tasks",
        name: "`@modelcontextprotocol/client`, declaring tasks",
        pinned: Pinned::Npm("@modelcontextprotocol/client"),
        protocol: EXTENSION,
        speaks: Speaks::Node { argument: Some("tasks") },
        story: "v2.mjs",
        kept: "",
        cannot: &[
            ("task", NO_TASK),
            ("failing", NO_TASK),
            ("fault", NO_TASK),
            ("input_accept", NO_TASK),
            ("input_decline", NO_TASK),
            ("resume", NO_TASK),
            ("kill_same", NO_TASK),
            ("kill_new", NO_TASK),
            ("kill_input", NO_TASK),
        ],
        refuses: "Unsupported result type 'task'",
        tells: &[("cancel", "-32602", BY_HAND), ("unknown_task", "-32602", BY_HAND)],
    },
    Client {
        key: "mcp2",
        name: "`mcp` (Python)",
        pinned: Pinned::Pip("mcp2", "mcp"),
        protocol: EXTENSION,
        speaks: Speaks::Python { environment: "mcp2" },
        story: "mcp2.py",
        kept: "after/mcp2.py",
        cannot: &[],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "fastmcp4",
        name: "`fastmcp` with `fastmcp-tasks`",
        pinned: Pinned::Pip("fastmcp4", "fastmcp"),
        protocol: EXTENSION,
        speaks: Speaks::Python { environment: "fastmcp4" },
        story: "fastmcp4.py",
        kept: "after/fastmcp4.py",
        cannot: &[],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "rmcp",
        name: "`rmcp` (Rust), also in `jobgate call`",
        pinned: Pinned::Cargo("rmcp"),
        protocol: EXTENSION,
        speaks: Speaks::Rust,
        story: "linked",
        kept: "linked",
        cannot: &[],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "mcpdo-modern",
        name: "Inspector, its `mcpdo`",
        pinned: Pinned::Npm("@modelcontextprotocol/inspector"),
        protocol: EXTENSION,
        speaks: Speaks::Commands { kind: "mcpdo-modern" },
        story: "cli.mjs",
        kept: "after/commands.mjs",
        cannot: &[],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "ext-tasks-2",
        name: "`@modelcontextprotocol/ext-tasks`",
        pinned: Pinned::Npm("@modelcontextprotocol/ext-tasks"),
        protocol: CORE,
        speaks: Speaks::Node { argument: Some("2") },
        story: "ext-tasks.mjs",
        kept: "after/ext-tasks.mjs",
        cannot: &[],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "sdk1",
        name: "`@modelcontextprotocol/sdk`",
        pinned: Pinned::Npm("@modelcontextprotocol/sdk"),
        protocol: CORE,
        speaks: Speaks::Node { argument: None },
        story: "sdk1.mjs",
        kept: "after/sdk1.mjs",
        cannot: &[],
        refuses: "",
        tells: &[("failing", "failed", FAILED_ALONE)],
    },
    Client {
        key: "stdio",
        name: "`@modelcontextprotocol/sdk`, over stdio",
        pinned: Pinned::Npm("@modelcontextprotocol/sdk"),
        protocol: CORE,
        speaks: Speaks::Node { argument: None },
        story: "after/stdio.mjs",
        kept: "",
        cannot: &[("kill_same", OWN_PROCESS)],
        refuses: "",
        tells: &[("failing", "failed", FAILED_ALONE)],
    },
    Client {
        key: "mcp1",
        name: "`mcp` (Python)",
        pinned: Pinned::Pip("mcp1", "mcp"),
        protocol: CORE,
        speaks: Speaks::Python { environment: "mcp1" },
        story: "mcp1.py",
        kept: "after/mcp1.py",
        cannot: &[],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "mcpdo-legacy",
        name: "Inspector, its `mcpdo`",
        pinned: Pinned::Npm("@modelcontextprotocol/inspector"),
        protocol: CORE,
        speaks: Speaks::Commands { kind: "mcpdo-legacy" },
        story: "cli.mjs",
        kept: "after/commands.mjs",
        cannot: &[],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "mcpc",
        name: "`@apify/mcpc`",
        pinned: Pinned::Npm("@apify/mcpc"),
        protocol: CORE,
        speaks: Speaks::Commands { kind: "mcpc" },
        story: "cli.mjs",
        kept: "after/commands.mjs",
        cannot: &[("input_accept", NO_FORMS), ("input_decline", NO_FORMS), ("kill_input", NO_FORMS)],
        refuses: "",
        tells: &[],
    },
    Client {
        key: "tickets",
        name: "`@modelcontextprotocol/client`, with tickets",
        pinned: Pinned::Npm("@modelcontextprotocol/client"),
        protocol: CORE,
        speaks: Speaks::Node { argument: None },
        story: "after/tickets.mjs",
        kept: "after/tickets.mjs",
        cannot: &[],
        refuses: "",
        tells: &[("fault", "-32601", ONLY_TASKS)],
    },
];
