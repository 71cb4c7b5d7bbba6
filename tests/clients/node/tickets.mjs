// A client of 2025-11-25 without tasks: it gets tickets, and redeems them. Its story, and its return after a kill of the gateway.
// usage: node tickets.mjs URL [RESTARTED]
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { end, pause, restarted, same, step, tell, text, url } from './kept.mjs';

let questions = 0;
let answer = { action: 'accept', content: { confirm: true } };

async function open() {
  const client = new Client(
    { name: 'jobgate-test', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'legacy' } },
  );
  client.setRequestHandler('elicitation/create', async () => {
    questions += 1;
    return answer;
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}
const call = (client, name, args) => client.callTool({ name, arguments: args }, { timeout: 60_000 });

async function ticket(client, tool, args) {
  const given = await call(client, tool, args);
  if (!given.structuredContent?.ticket) throw new Error(`no ticket: ${JSON.stringify(given)}`);
  return given.structuredContent.ticket;
}

// As a model does it: wait, and wait again for as long as there is a ticket.
async function redeem(client, held) {
  for (let tries = 0; tries < 10; tries++) {
    const given = await call(client, 'job_wait', { ticket: held, wait_seconds: 20 });
    if (!given.structuredContent?.ticket) return given;
  }
  throw new Error('the job does not end');
}

const client = {
  open,
  // The tools of the story that wait for their result have a sister that gives a ticket.
  start: (connection, tool, args) => ticket(connection, 'ticket_job', tool === 'slow_compute' ? { seconds: args.seconds } : { seconds: 0, file: args.filename }),
  result: async (connection, held) => text(await redeem(connection, held)),
  asked: () => questions,
  close: connection => connection.close(),
};

async function story() {
  let c;
  const job = args => ticket(c, 'ticket_job', args).then(held => redeem(c, held));
  await step('connect', async () => { c = await open(); });
  await step('list', async () => {
    const names = (await c.listTools()).tools.map(tool => tool.name);
    for (const name of ['ticket_job', 'job_wait', 'job_result', 'job_cancel']) if (!names.includes(name)) throw new Error(`no ${name}: ${names}`);
  });
  await step('quick', async () => same(text(await call(c, 'greet', { name: 'Ada' })), 'Hello, Ada!'));
  await step('task', async () => {
    same(text(await call(c, 'slow_compute', { seconds: 1 })), 'computed for 1 s');
    return same(text(await job({ seconds: 1 })), 'computed for 1 s');
  });
  await step('failing', async () => same((await job({ seconds: 1, fail: true })).isError, true));
  await step('fault', async () => {
    const refused = await call(c, 'protocol_error_job', {}).then(given => ({ message: JSON.stringify(given) }), error => error);
    return same(refused.code, -32601);
  });
  for (const [name, says, last] of [['accept', { action: 'accept', content: { confirm: true } }, 'is deleted.'], ['decline', { action: 'decline' }, 'is kept.']]) {
    await step(`input_${name}`, async () => {
      [answer, questions] = [says, 0];
      same(text(await job({ seconds: 0, file: 'x.txt' })), `x.txt ${last}`);
      same(questions, 1);
      same(text(await call(c, 'confirm_delete', { filename: 'x.txt' })), `x.txt ${last}`);
      return { asked: same(questions, 2), text: last };
    });
  }
  await step('cancel', async () => {
    const held = await ticket(c, 'ticket_job', { seconds: 60 });
    await call(c, 'job_cancel', { ticket: held });
    for (let looks = 0; looks < 40; looks++) {
      const now = await call(c, 'job_result', { ticket: held });
      if (now.isError && text(now).includes('cancel')) return { text: text(now) };
      await pause(100);
    }
    throw new Error('the job runs on');
  });
  await step('resume', async () => {
    const held = await ticket(c, 'ticket_job', { seconds: 2 });
    await c.close();
    c = await open();
    return same(text(await redeem(c, held)), 'computed for 2 s');
  });
  await step('unknown_task', async () => same((await call(c, 'job_wait', { ticket: 'task_00000000000000000000000000000000' })).isError, true));
  await Promise.race([c.close(), pause(3000)]);
  end();
}

if (restarted) await tell(client);
else await story();
