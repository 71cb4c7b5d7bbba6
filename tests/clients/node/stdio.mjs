// The SDK 1.x over stdio: it starts the gateway itself, and kills it. usage: JOBGATE=BINARY CONFIG=FILE DATA=FOLDER node stdio.mjs
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { end, pause, same, step, text } from './kept.mjs';

const { JOBGATE: command, CONFIG, DATA } = process.env;
let [answer, questions, c] = [null, 0, null];

async function open() {
  const transport = new StdioClientTransport({
    command,
    args: ['stdio', '--config', CONFIG, '--data', DATA],
    stderr: 'ignore',
    // All of it, as the marks in it tell whose process this is.
    env: process.env,
  });
  const client = new Client({ name: 'jobgate-test', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, () => {
    questions += 1;
    return answer;
  });
  await client.connect(transport);
  await client.listTools();
  return client;
}
const stream = (name, args) => c.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, { task: { ttl: 600_000 } });

// Follows a call to its end: the result, or the error that it ended with.
async function run(name, args) {
  for await (const message of stream(name, args)) {
    if (message.type === 'result') return message.result;
    if (message.type === 'error') return message.error;
  }
}
async function start(name, args) {
  for await (const message of stream(name, args)) {
    if (message.error) throw message.error;
    if (message.type === 'taskCreated') return message.task.taskId;
  }
}
const result = async task => text(await c.experimental.tasks.getTaskResult(task, CallToolResultSchema));
const yes = { action: 'accept', content: { confirm: true } };

await step('connect', async () => { c = await open(); });
await step('list', async () => same((await c.listTools()).tools.some(tool => tool.name === 'slow_compute'), true));
await step('quick', async () => same(text(await c.callTool({ name: 'greet', arguments: { name: 'Ada' } })), 'Hello, Ada!'));
await step('task', async () => same(text(await run('slow_compute', { seconds: 1 })), 'computed for 1 s'));
await step('failing', async () => ({ message: String((await run('failing_job', {})).message) }));
await step('fault', async () => {
  const task = await start('protocol_error_job', {});
  const fault = await result(task).then(() => null, error => error);
  return same(fault?.code, -32603);
});
for (const [name, says, last] of [['accept', yes, 'x.txt is deleted.'], ['decline', { action: 'decline' }, 'x.txt is kept.']]) {
  await step(`input_${name}`, async () => {
    [answer, questions] = [says, 0];
    return { ...same(text(await run('confirm_delete', { filename: 'x.txt' })), last), asked: questions };
  });
}
await step('cancel', async () => same((await c.experimental.tasks.cancelTask(await start('slow_compute', { seconds: 60 }))).status, 'cancelled'));
await step('resume', async () => {
  const task = await start('slow_compute', { seconds: 2 });
  await c.close();
  c = await open();
  return same(await result(task), 'computed for 2 s');
});
await step('unknown_task', async () => same((await c.experimental.tasks.getTask('task_00000000000000000000000000000000').then(() => null, error => error))?.code, -32602));

// The gateway is killed in the middle of a job and of a question, and started again by a new connection.
const job = await start('slow_compute', { seconds: 3 });
const question = await start('confirm_delete', { filename: 'kept.txt' });
process.kill(c.transport.pid, 'SIGKILL');
await step('kill_new', async () => {
  c = await open();
  return same(await result(job), 'computed for 3 s');
});
await step('kill_input', async () => {
  [answer, questions] = [yes, 0];
  return { ...same(await result(question), 'kept.txt is deleted.'), asked: questions };
});
await Promise.race([c.close(), pause(5000)]);
end();
