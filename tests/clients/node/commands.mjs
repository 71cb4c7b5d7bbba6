// Command-line clients over the kill of the gateway. usage: KIND=mcpdo-modern|mcpdo-legacy|mcpc BIN=FOLDER node commands.mjs URL
// RESTARTED JOB QUESTION LONG
//
// Where the client cannot leave a task running, JOB and QUESTION are the ids of tasks that another client made; LONG, likewise, is
// one to cancel.
import { execFile } from 'node:child_process';
import { tasks, tell, text, url } from './kept.mjs';

const [kind, bin] = [process.env.KIND, process.env.BIN];
const [job, question, long] = tasks;
const mcpc = kind === 'mcpc';
const names = { count: 0 };
let answered = 0;

// What the command prints as JSON, with its exit code.
function run(words) {
  return new Promise(done => {
    const child = execFile(`${bin}/${words[0]}`, words.slice(1), { timeout: 35_000 }, (error, out, err) => {
      const printed = [out, err].find(it => it.includes('{')) ?? 'null';
      let json = null;
      try { json = JSON.parse(printed.slice(printed.indexOf('{'))); } catch { json = { printed: out + err }; }
      done({ code: error?.code ?? 0, json });
    });
    child.stdin.end();
  });
}
async function verb(name, word, ...rest) {
  const told = mcpc ? ['mcpc', '--json', `@${name}`, word.replace('/', '-'), ...rest] : ['mcpdo', '--format', 'json', word, ...rest, '--connection', name];
  const { code, json } = await run(told);
  if (code !== 0 && !json?.content) throw new Error(`${told.join(' ')}: exit ${code}, ${JSON.stringify(json)}`);
  return json;
}

tell({
  async open() {
    const name = `kept${process.pid}x${names.count++}`;
    const options = ['--transport', 'http', '--era', kind.split('-')[1], '--connection', name];
    await run(mcpc ? ['mcpc', '--json', 'connect', url, `@${name}`] : ['mcpdo', '--format', 'json', 'connect', url, ...options]);
    return name;
  },
  async start(name, tool, args) {
    if (!mcpc) return tool === 'slow_compute' ? job : question;
    const words = Object.entries(args).map(([key, value]) => `${key}:=${JSON.stringify(value)}`);
    return (await verb(name, 'tools/call', tool, ...words, '--detach')).taskId;
  },
  async result(name, id) {
    if (id !== question) return text(await verb(name, 'tasks/result', id));
    if (kind === 'mcpdo-legacy') {
      // The question comes while the result is waited for, and its answer gives the result.
      const { elicitationPending } = await verb(name, 'tasks/result', id);
      answered += 1;
      return text(await verb(name, 'elicitation/respond', elicitationPending.elicitationId, 'confirm:=true'));
    }
    const { task } = await verb(name, 'tasks/get', id);
    for (const key of Object.keys(task.raw.inputRequests)) {
      answered += 1;
      const answer = JSON.stringify({ [key]: { action: 'accept', content: { confirm: true } } });
      await verb(name, 'tasks/update', id, '--input-responses', answer);
    }
    return text(await verb(name, 'tasks/result', id));
  },
  ...(!mcpc && { asked: () => answered }),
  async more(name, step) {
    if (!mcpc) await step('resume', async () => ({ text: text(await verb(name, 'tasks/result', job)) }));
    await step('cancel', async () => {
      await verb(name, 'tasks/cancel', long);
      const now = await verb(name, 'tasks/get', long);
      const status = now.task?.status ?? now.status;
      if (status !== 'cancelled') throw new Error(JSON.stringify(now));
      return { status };
    });
  },
  close: name => run(mcpc ? ['mcpc', 'close', `@${name}`] : ['mcpdo', 'disconnect', name]),
});
